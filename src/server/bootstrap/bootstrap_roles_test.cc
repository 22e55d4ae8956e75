// What a server does with the roles that are there when it starts, of an earlier version or another server.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr char kRoles[] = "/apis/rbac.authorization.k8s.io/v1/clusterroles/";

class BootstrapRolesTest : public ServerFixture {
 protected:
  std::string Version(const std::string& role) {
    return std::string(Do("GET", kRoles + role)->value()["metadata"]["resourceVersion"].string_or(""));
  }
  json::Value Rules(const std::string& role) { return Do("GET", kRoles + role)->value()["rules"]; }
  void SetRules(const std::string& role, const std::string& rules, const std::string& annotations = "{}") {
    const auto done = Do("PATCH", kRoles + role,
                         R"({"rules":)" + rules + R"(,"metadata":{"annotations":)" + annotations + "}}",
                         "application/merge-patch+json");
    ASSERT_EQ(done->status, 200) << done->body;
  }
  // Another server on the same store.
  void StartAnother() {
    const auto started = ApiServer::Make({}, *store_, sim_, random_, metrics_);
    ASSERT_TRUE(started) << started.error().message();
    sim_.RunReady();
  }
};

TEST_F(BootstrapRolesTest, RulesThatGiveTheSameRightsInOtherWordsStay) {
  // As kube-apiserver sorts them, and in two rules.
  SetRules("system:kube-dns",
           R"([{"verbs":["watch","list"],"apiGroups":[""],"resources":["services"]},
               {"verbs":["list","watch"],"apiGroups":[""],"resources":["endpoints"]}])");
  const std::string before = Version("system:kube-dns");
  StartAnother();
  EXPECT_EQ(Version("system:kube-dns"), before);
}

TEST_F(BootstrapRolesTest, MissingRightsAreAddedAndOthersStay) {
  SetRules("system:kube-dns", R"([{"verbs":["list"],"apiGroups":[""],"resources":["services","pods"]}])");
  StartAnother();
  const json::Value rules = Rules("system:kube-dns");
  EXPECT_EQ(json::Write(rules), R"([{"verbs":["list"],"apiGroups":[""],"resources":["services","pods"]},)"
                                R"({"verbs":["list","watch"],"apiGroups":[""],"resources":["endpoints"]},)"
                                R"({"verbs":["watch"],"apiGroups":[""],"resources":["services"]}])");
}

TEST_F(BootstrapRolesTest, WhoWantsNoUpdatesGetsNone) {
  SetRules("system:kube-dns", "[]", R"({"rbac.authorization.kubernetes.io/autoupdate":"false"})");
  StartAnother();
  EXPECT_TRUE(Rules("system:kube-dns").empty());
}

TEST_F(BootstrapRolesTest, PolicyIsSortedAsUpstreams) {
  const json::Value rules = Rules("system:kube-aggregator");
  EXPECT_EQ(json::Write(rules),
            R"([{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["endpoints","services"]}])");
}

}  // namespace
}  // namespace flyball::server
