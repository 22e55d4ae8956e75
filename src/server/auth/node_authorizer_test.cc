#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class NodeAuthorizerTest : public ServerFixture {
 protected:
  NodeAuthorizerTest() {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    for (const char* name : {"mounted", "pulled", "env", "other"})
      Do("POST", "/api/v1/namespaces/default/secrets",
         std::string(R"({"metadata":{"name":")") + name + R"("}})");
    Do("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1",
      "volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"mounted"}}]}}],
      "imagePullSecrets":[{"name":"pulled"}],
      "containers":[{"name":"c","image":"i","envFrom":[{"secretRef":{"name":"env"}}]}]}})");
  }
  int Get(const char* node, const std::string& name) {
    return As({std::string("system:node:") + node, "", {"system:nodes"}, {}}, "GET",
              "/api/v1/namespaces/default/secrets/" + name)
        ->status;
  }
};

TEST_F(NodeAuthorizerTest, ANodeReadsWhatItsPodsNeedWhileTheyAreThere) {
  for (const char* name : {"mounted", "pulled", "env"}) {
    EXPECT_EQ(Get("n1", name), 200) << name;
    EXPECT_EQ(Get("n2", name), 403) << name;
  }
  EXPECT_EQ(Get("n1", "other"), 403);
  Do("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "mounted"), 403);
}

TEST_F(NodeAuthorizerTest, TwoPodsThatNeedTheSameGoOneAfterTheOther) {
  Do("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"q"},"spec":{"nodeName":"n1",
      "imagePullSecrets":[{"name":"pulled"}],"containers":[{"name":"c","image":"i"}]}})");
  Do("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "pulled"), 200);
  Do("DELETE", "/api/v1/namespaces/default/pods/q?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "pulled"), 403);
}

}  // namespace
}  // namespace flyball::server
