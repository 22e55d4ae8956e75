// What a rule does not name it does not allow.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class RbacTest : public ServerFixture {
 protected:
  // Whether the user may, by a review.
  bool May(const User& user, const std::string& attributes) {
    const auto reply = Do("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                          R"({"spec":{"user":")" + user.name + R"(","groups":)" +
                              json::Write(json::Array(user.groups.begin(), user.groups.end())) +
                              R"(,"resourceAttributes":{)" + attributes + "}}}");
    EXPECT_EQ(reply->status, 201) << reply->body;
    return reply->value()["status"]["allowed"].bool_or(false);
  }
  bool MayRead(const std::string& path) {
    const auto reply =
        Do("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
           R"({"spec":{"user":"eve","nonResourceAttributes":{"verb":"get","path":")" + path + R"("}}})");
    return reply->value()["status"]["allowed"].bool_or(false);
  }
  const User eve_{"eve", "", {}, {}};
};

TEST_F(RbacTest, ARuleIsOfItsVerbsGroupsResourcesAndNames) {
  Grant("eve",
        R"([{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["d"],"verbs":["get"]}])");
  const std::string good =
      R"("verb":"get","group":"apps","resource":"deployments","namespace":"default","name":"d")";
  EXPECT_TRUE(May(eve_, good));
  EXPECT_FALSE(May({"bob", "", {}, {}}, good));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"get\"", "\"list\""},
           {"\"apps\"", "\"\""},
           {"\"deployments\"", "\"replicasets\""},
           {"\"name\":\"d\"", "\"name\":\"e\""},
           {",\"name\":\"d\"", ""},
           {"\"resource\"", R"("subresource":"scale","resource")"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(May(eve_, bad)) << bad;
  }
}

TEST_F(RbacTest, ARoleBindingIsOfItsNamespace) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["secrets","nodes"],"verbs":["*"]},
                   {"nonResourceURLs":["/metrics"],"verbs":["get"]}])",
        "default");
  EXPECT_TRUE(May(eve_, R"("verb":"get","resource":"secrets","namespace":"default")"));
  EXPECT_FALSE(May(eve_, R"("verb":"get","resource":"secrets","namespace":"kube-system")"));
  EXPECT_FALSE(May(eve_, R"("verb":"get","resource":"secrets")"));
  EXPECT_FALSE(May(eve_, R"("verb":"get","resource":"nodes")"));
  EXPECT_FALSE(MayRead("/metrics"));
}

TEST_F(RbacTest, PathsAreMatchedWhole) {
  Grant("eve", R"([{"nonResourceURLs":["/one","/all/*"],"verbs":["get"]}])");
  EXPECT_TRUE(MayRead("/one"));
  EXPECT_TRUE(MayRead("/all/of/it"));
  for (const char* path : {"/on", "/one/", "/one/more", "/all", "/ONE"}) EXPECT_FALSE(MayRead(path)) << path;
}

TEST_F(RbacTest, SubresourcesAreNamed) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["*"]}])");
  EXPECT_FALSE(May(eve_, R"("verb":"create","resource":"pods","subresource":"exec","namespace":"default")"));
  Grant("bob", R"([{"apiGroups":[""],"resources":["*/exec"],"verbs":["*"]}])");
  const User bob{"bob", "", {}, {}};
  EXPECT_TRUE(May(bob, R"("verb":"create","resource":"pods","subresource":"exec","namespace":"default")"));
  EXPECT_FALSE(May(bob, R"("verb":"create","resource":"pods","subresource":"attach","namespace":"default")"));
  EXPECT_FALSE(May(bob, R"("verb":"create","resource":"pods","namespace":"default")"));
}

TEST_F(RbacTest, SubjectsAreOfTheirKind) {
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
  Do("POST", rbac + "/clusterroles",
     R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})");
  Do("POST", rbac + "/clusterrolebindings",
     R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"},
         "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"dev"},
                     {"kind":"ServiceAccount","name":"robot","namespace":"default"}]})");
  const std::string get = R"("verb":"get","resource":"secrets","namespace":"default")";
  EXPECT_TRUE(May({"eve", "", {"dev"}, {}}, get));
  EXPECT_FALSE(May({"dev", "", {}, {}}, get));
  EXPECT_TRUE(May({"system:serviceaccount:default:robot", "", {}, {}}, get));
  EXPECT_FALSE(May({"system:serviceaccount:kube-system:robot", "", {}, {}}, get));
  EXPECT_FALSE(May({"robot", "", {}, {}}, get));
}

TEST_F(RbacTest, WhatIsTakenBackIsGone) {
  Bind("eve", "ClusterRole", "view");
  const std::string list = R"("verb":"list","resource":"pods","namespace":"default")";
  EXPECT_TRUE(May(eve_, list));
  EXPECT_FALSE(May(eve_, R"("verb":"get","resource":"secrets","namespace":"default")"));
  Do("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/b0");
  EXPECT_FALSE(May(eve_, list));
}

struct AlwaysDenyTest : ServerFixture {
  AlwaysDenyTest() : ServerFixture(Options()) {}
  static ApiServerOptions Options() {
    ApiServerOptions options;
    options.authorization.modes = {"AlwaysDeny"};
    return options;
  }
};

TEST_F(AlwaysDenyTest, DeniesAllButMasters) {
  EXPECT_EQ(As({"eve", "", {}, {}}, "GET", "/version")->status, 403);
  EXPECT_EQ(As({"eve", "", {}, {}}, "GET", "/api/v1/pods")->status, 403);
  EXPECT_EQ(Do("GET", "/api/v1/pods")->status, 200);
}

}  // namespace
}  // namespace flyball::server
