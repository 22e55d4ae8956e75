// Writing to a name that is not there creates it: for that the right to create is needed too.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const char* const kApply = "application/apply-patch+yaml";

class CreateOnUpdateTest : public ServerFixture {
 protected:
  const User eve_{"eve", "", {}, {}};
  std::shared_ptr<Reply> Put(const std::string& path, const std::string& body) {
    return As(eve_, "PUT", path, body);
  }
};

TEST_F(CreateOnUpdateTest, ApplyThatCreatesNeedsCreate) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","patch"]}])");
  const std::string map = "/api/v1/namespaces/default/configmaps/m?fieldManager=eve";
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})";
  const auto refused = As(eve_, "PATCH", map, body, kApply);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->message(),
            "configmaps \"m\" is forbidden: User \"eve\" cannot create resource \"configmaps\" in API group "
            "\"\" in "
            "the namespace \"default\"");
  EXPECT_EQ(As(eve_, "PATCH", map + "&dryRun=All", body, kApply)->status, 403);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/default/configmaps/m")->status, 404);
  // What is there is only changed.
  Do("POST", "/api/v1/namespaces/default/configmaps", body);
  EXPECT_EQ(As(eve_, "PATCH", map, body, kApply)->status, 200);
}

TEST_F(CreateOnUpdateTest, ApplyCreatesForThoseWhoMay) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["patch","create"]}])");
  EXPECT_EQ(As(eve_, "PATCH", "/api/v1/namespaces/default/configmaps/m?fieldManager=eve",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})", kApply)
                ->status,
            201);
}

TEST_F(CreateOnUpdateTest, PutThatCreatesNeedsCreate) {
  Grant("eve", R"([{"apiGroups":["*"],"resources":["*"],"verbs":["update"]}])");
  const std::string core = "/api/v1/namespaces/default";
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x";
  const std::string lease_body = R"({"metadata":{"name":"x"},"spec":{"holderIdentity":"h"}})";
  EXPECT_EQ(Put(lease, lease_body)->status, 403);
  EXPECT_EQ(Put(core + "/services/x", R"({"metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}})")->status,
            403);
  EXPECT_EQ(Put(core + "/endpoints/x", R"({"metadata":{"name":"x"}})")->status, 403);
  EXPECT_EQ(Put(core + "/limitranges/x", R"({"metadata":{"name":"x"},"spec":{"limits":[]}})")->status, 403);
  EXPECT_EQ(Do("GET", lease)->status, 404);
  Grant("eve", R"([{"apiGroups":["coordination.k8s.io"],"resources":["leases"],"verbs":["create"]}])");
  EXPECT_EQ(Put(lease, lease_body)->status, 201);
}

// Upstream: AuthorizePodWebsocketUpgradeCreatePermission.
TEST_F(CreateOnUpdateTest, StreamsByGetNeedCreate) {
  Grant("eve",
        R"([{"apiGroups":[""],"resources":["pods/exec","pods/attach","pods/portforward"],"verbs":["get"]}])");
  for (const std::string stream : {"exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=1"}) {
    const std::string path = "/api/v1/namespaces/default/pods/p/" + stream;
    EXPECT_EQ(As(eve_, "GET", path)->status, 403) << stream;
    EXPECT_EQ(As(eve_, "POST", path)->status, 403) << stream;
  }
  Grant("eve", R"([{"apiGroups":[""],"resources":["pods/exec"],"verbs":["create"]}])");
  EXPECT_EQ(As(eve_, "GET", "/api/v1/namespaces/default/pods/p/exec?command=id&stdout=1")->status, 404);
}

}  // namespace
}  // namespace flyball::server
