// The namespace that was authorised is the one that is acted on, for every path.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class NamespaceScopeTest : public ServerFixture {
 protected:
  NamespaceScopeTest() {
    for (const char* name : {"own", "vic"})
      Do("POST", "/api/v1/namespaces", std::string(R"({"metadata":{"name":")") + name + R"("}})");
    Bind("eve", "ClusterRole", "cluster-admin", "own");
  }
  const User eve_{"eve", "", {}, {}};
};

TEST_F(NamespaceScopeTest, NamespacesAreNotReachedThroughANamespace) {
  const std::string vic = R"({"metadata":{"name":"vic"}})";
  EXPECT_EQ(As(eve_, "GET", "/api/v1/namespaces/own/namespaces/vic")->status, 404);
  EXPECT_EQ(As(eve_, "GET", "/api/v1/namespaces/own/namespaces")->status, 404);
  EXPECT_EQ(As(eve_, "PUT", "/api/v1/namespaces/own/namespaces/vic", vic)->status, 404);
  EXPECT_EQ(As(eve_, "PUT", "/api/v1/namespaces/own/namespaces/vic/finalize", vic)->status, 404);
  EXPECT_EQ(As(eve_, "PUT", "/api/v1/namespaces/own/namespaces/vic/status", vic)->status, 404);
  EXPECT_EQ(As(eve_, "PATCH", "/api/v1/namespaces/own/namespaces/vic", "{}", "application/merge-patch+json")
                ->status,
            404);
  EXPECT_EQ(As(eve_, "POST", "/api/v1/namespaces/own/namespaces", R"({"metadata":{"name":"new"}})")->status,
            404);
  EXPECT_EQ(As(eve_, "DELETE", "/api/v1/namespaces/own/namespaces/vic")->status, 404);
  EXPECT_EQ(As(eve_, "DELETE", "/api/v1/namespaces/own/namespaces")->status, 404);
  EXPECT_EQ(As(eve_, "GET", "/api/v1/watch/namespaces/own/namespaces/vic")->status, 404);
  EXPECT_EQ(As(eve_, "DELETE", "/api/v1/namespaces/own/namespaces/own")->status, 404);
  EXPECT_TRUE(Do("GET", "/api/v1/namespaces/vic")->value()["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/new")->status, 404);
  // Its own it may.
  EXPECT_EQ(As(eve_, "GET", "/api/v1/namespaces/own")->status, 200);
  EXPECT_EQ(As(eve_, "GET", "/api/v1/namespaces/vic")->status, 403);
}

TEST_F(NamespaceScopeTest, NothingOutsideNamespacesIsReachedThroughOne) {
  Do("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})");
  for (const std::string resource : {"api/v1/namespaces/own/nodes", "api/v1/namespaces/own/persistentvolumes",
                                     "apis/rbac.authorization.k8s.io/v1/namespaces/own/clusterroles",
                                     "apis/rbac.authorization.k8s.io/v1/namespaces/own/clusterrolebindings",
                                     "apis/apiextensions.k8s.io/v1/namespaces/own/customresourcedefinitions",
                                     "apis/certificates.k8s.io/v1/namespaces/own/certificatesigningrequests",
                                     "apis/authorization.k8s.io/v1/namespaces/own/subjectaccessreviews",
                                     "apis/authentication.k8s.io/v1/namespaces/own/tokenreviews"}) {
    EXPECT_EQ(As(eve_, "GET", "/" + resource)->status, 404) << resource;
    EXPECT_EQ(As(eve_, "POST", "/" + resource, R"({"metadata":{"name":"n"}})")->status, 404) << resource;
    EXPECT_EQ(As(eve_, "DELETE", "/" + resource + "/n")->status, 404) << resource;
  }
  EXPECT_EQ(Do("GET", "/api/v1/nodes/n")->status, 200);
}

// A custom kind may be called as it likes; its objects are no namespaces.
TEST_F(NamespaceScopeTest, ACustomKindCalledNamespaceIsNotAuthorisedAsOne) {
  const auto made =
      Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         R"({"metadata":{"name":"namespaces.example.com"},"spec":{"group":"example.com","scope":"Cluster",
      "names":{"plural":"namespaces","singular":"namespace","kind":"Namespace","listKind":"NamespaceList"},
      "versions":[{"name":"v1","served":true,"storage":true,
                   "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  ASSERT_EQ(made->status, 201) << made->body;
  sim_.RunFor(std::chrono::seconds(10));
  ASSERT_EQ(Do("POST", "/apis/example.com/v1/namespaces",
               R"({"apiVersion":"example.com/v1","kind":"Namespace","metadata":{"name":"own"}})")
                ->status,
            201);
  EXPECT_EQ(As(eve_, "GET", "/apis/example.com/v1/namespaces/own")->status, 404);
  EXPECT_EQ(As(eve_, "DELETE", "/apis/example.com/v1/namespaces/own")->status, 404);
}

TEST_F(NamespaceScopeTest, ABodyCannotNameAnotherPlace) {
  const std::string elsewhere = R"({"metadata":{"name":"m","namespace":"vic"}})";
  EXPECT_EQ(As(eve_, "POST", "/api/v1/namespaces/own/configmaps", elsewhere)->status, 400);
  Do("POST", "/api/v1/namespaces/own/configmaps", R"({"metadata":{"name":"m"}})");
  EXPECT_EQ(As(eve_, "PUT", "/api/v1/namespaces/own/configmaps/m", elsewhere)->status, 400);
  EXPECT_EQ(
      As(eve_, "PATCH", "/api/v1/namespaces/own/configmaps/m", elsewhere, "application/merge-patch+json")
          ->status,
      400);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/vic/configmaps/m")->status, 404);
}

// What a list is authorised for by a name in its selector is only that object.
TEST_F(NamespaceScopeTest, ASelectedNameIsTheOneThatIsAuthorised) {
  Grant("bob", R"([{"apiGroups":[""],"resources":["configmaps"],"resourceNames":["m"],"verbs":["list","watch",
      "deletecollection"]}])");
  const User bob{"bob", "", {}, {}};
  const std::string maps = "/api/v1/namespaces/own/configmaps";
  EXPECT_EQ(As(bob, "GET", maps)->status, 403);
  EXPECT_EQ(As(bob, "GET", maps + "?fieldSelector=metadata.name%3Dm")->status, 200);
  EXPECT_EQ(As(bob, "GET", maps + "?fieldSelector=metadata.name%21%3Dm")->status, 403);
  EXPECT_EQ(As(bob, "GET", maps + "?fieldSelector=metadata.name%3Dx")->status, 403);
  EXPECT_EQ(As(bob, "GET", maps + "?fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dm")->status,
            403);
  EXPECT_EQ(As(bob, "DELETE", maps + "?fieldSelector=metadata.name%3Dm")->status, 403);
}

}  // namespace
}  // namespace flyball::server
