// Who may call a node's server, decided by the real API server.
#include "node/streams/caller_auth.h"

#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "json/json.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

const KindRef kBinding{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false};
const KindRef kRole{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false};
const KindRef kAccount{"", "v1", "ServiceAccount", "serviceaccounts", true};

class CallerAuthTest : public ::testing::Test {
 protected:
  CallerAuthTest()
      : executor_(1),
        store_(store::NewMemoryStore(executor_)),
        server_(*server::ApiServer::Make({}, *store_, executor_, executor_.random(), metrics_)),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        admin_(As({.name = "admin", .groups = {"system:masters", "system:authenticated"}})),
        // As a node: its own rights have to be enough to ask.
        auth_(NewDelegatedAuth(
            As({.name = "system:node:n1", .groups = {"system:nodes", "system:authenticated"}}))) {}
  ~CallerAuthTest() override {
    server_->Stop();
    executor_.RunFor(1min);
  }

  Client As(const server::User& user) {
    return Client(std::make_shared<RestClient>(server_->InProcess(user), runtime_));
  }
  CallerVerdict Check(const net::Request& request, const std::string& node = "n1") {
    CallerVerdict verdict{0, "no answer"};
    auth_->Check(request, node, [&](const CallerVerdict& given) { verdict = given; });
    executor_.RunFor(1s);
    return verdict;
  }
  static net::Request Get(const std::string& target) {
    net::Request request;
    request.method = "GET";
    request.target = target;
    return request;
  }
  static net::Request By(const std::string& user, const std::string& target = "/containerLogs/d/p/c") {
    net::Request request = Get(target);
    request.peer.verified = true;
    request.peer.common_name = user;
    request.peer.certificate_sha256 = "ab";
    return request;
  }
  void Allow(const std::string& user, const std::string& resources, const std::string& names = "") {
    const json::Value rule = *json::Parse(R"({"apiGroups":[""],"verbs":["get"],"resources":)" + resources +
                                          (names.empty() ? "" : R"(,"resourceNames":)" + names) + "}");
    ASSERT_TRUE(admin_.Dynamic(kRole).Create(
        json::Object{{"metadata", json::Object{{"name", user}}}, {"rules", json::Array{rule}}}));
    ASSERT_TRUE(admin_.Dynamic(kBinding).Create(*json::Parse(
        R"({"metadata":{"name":")" + user +
        R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + user +
        R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" + user +
        R"("}]})")));
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::ApiServer> server_;
  Runtime runtime_;
  Client admin_;
  std::shared_ptr<CallerAuth> auth_;
};

TEST_F(CallerAuthTest, ACallerWithoutCredentialsIsRefused) {
  EXPECT_EQ(Check(Get("/containerLogs/d/p/c")).status, 401);
  EXPECT_EQ(Check(Get("/healthz")).status, 401);
}

TEST_F(CallerAuthTest, ACertificateThatNobodyVouchesForIsNone) {
  net::Request request = By("system:apiserver");
  request.peer.verified = false;
  request.peer.organizations = {"system:masters"};
  EXPECT_EQ(Check(request).status, 401);
}

TEST_F(CallerAuthTest, ACertificateWithoutANameIsRefused) {
  net::Request request = By("");
  request.peer.organizations = {"system:masters"};
  EXPECT_EQ(Check(request).status, 401);
}

TEST_F(CallerAuthTest, ACallerNeedsTheRightToTheNode) {
  const auto refused = Check(By("jane"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message, "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[proxy])");
  Allow("jane", R"(["nodes/proxy"])", R"(["n1"])");
  EXPECT_EQ(Check(By("jane")).status, 403) << "a refusal is kept for a while";
  executor_.RunFor(31s);
  EXPECT_EQ(Check(By("jane")).status, 200);
  EXPECT_EQ(Check(By("jane"), "n2").status, 403);
  net::Request exec = By("jane", "/exec/d/p/c");
  exec.method = "POST";
  EXPECT_EQ(Check(exec).status, 403) << "get is not create";
}

TEST_F(CallerAuthTest, FineRightsOpenTheirPathsOnly) {
  Allow("probe", R"(["nodes/healthz"])");
  EXPECT_EQ(Check(By("probe", "/healthz")).status, 200);
  EXPECT_EQ(Check(By("probe", "/containerLogs/d/p/c")).status, 403);
  EXPECT_EQ(Check(By("probe", "/pods")).status, 403);
  Allow("proxy", R"(["nodes/proxy"])");
  EXPECT_EQ(Check(By("proxy", "/healthz")).status, 200);
  EXPECT_EQ(Check(By("proxy", "/metrics")).status, 403);
}

TEST_F(CallerAuthTest, ATokenIsWhatTheApiServerSaysItIs) {
  ASSERT_TRUE(admin_.Dynamic(kAccount).Create(
      *json::Parse(R"({"metadata":{"name":"viewer","namespace":"default"}})")));
  const auto issued = admin_.Dynamic(kAccount).CreateSubresource(
      "default", "viewer", "token",
      *json::Parse(R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})"));
  ASSERT_TRUE(issued) << issued.error().ToString();
  net::Request request = Get("/containerLogs/d/p/c");
  request.headers.Set("authorization", "Bearer " + std::string((*issued)["status"]["token"].string_or("")));
  const auto refused = Check(request);
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.message.find("user=system:serviceaccount:default:viewer"), std::string::npos);
  request.headers.Set("authorization", "Bearer nonsense");
  EXPECT_EQ(Check(request).status, 401);
  request.headers.Set("authorization", "Basic YWRtaW46YWRtaW4=");
  EXPECT_EQ(Check(request).status, 401);
}

}  // namespace
}  // namespace flyball::node
