// The smallest controller, as in docs/controllers.md, on virtual time.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

using namespace flyball;  // NOLINT(google-build-using-namespace): as a user would

namespace {

struct NetworkSpec {
  std::string cidr, gateway;
  static constexpr auto kFields =
      Fields(Field{"cidr", &NetworkSpec::cidr}, Field{"gateway", &NetworkSpec::gateway});
};
using Network = CustomResource<NetworkSpec, "sample.k8s.io", "v1", "Network">;

constexpr char kNetworks[] = "/apis/sample.k8s.io/v1/networks";
constexpr char kConfigMaps[] = "/api/v1/configmaps";

Result<Action> ReconcileNetwork(const Network& network, Context& ctx) {
  ConfigMap want{.metadata = ChildOf(network), .data = {{"cidr", network.spec.cidr}}};
  if (auto applied = ctx.client().Apply(want, {.field_manager = "network"}); !applied)
    return Unexpected(applied.error());
  return RequeueAfter(5min);
}

class NetworkControllerTest : public ::testing::Test {
 protected:
  NetworkControllerTest()
      : executor_(1),
        server_(std::make_shared<flyball::testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(server_, runtime_)),
        manager_(std::make_unique<Manager>(client_)) {}

  ~NetworkControllerTest() override {
    manager_->Stop();
    executor_.RunFor(1min);
  }

  void PutNetwork(const std::string& cidr) {
    auto network =
        server_->Find(kNetworks, "default", "lan")
            .value_or(json::Object{{"metadata", json::Object{{"name", "lan"}, {"namespace", "default"}}}});
    network["spec"]["cidr"] = cidr;
    server_->Put(kNetworks, std::move(network));
  }
  std::string CidrOfConfigMap() {
    const auto found = server_->Find(kConfigMaps, "default", "lan");
    return found ? std::string(std::as_const(*found)["data"]["cidr"].string_or("")) : "(none)";
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<flyball::testing::FakeApiServer> server_;
  Runtime runtime_;
  Client client_;
  std::unique_ptr<Manager> manager_;
};

TEST_F(NetworkControllerTest, KeepsTheConfigMapAsTheNetworkSays) {
  PutNetwork("10.0.0.0/8");
  ASSERT_TRUE(manager_->For<Network>().Owns<ConfigMap>().Workers(2).Reconcile(&ReconcileNetwork));
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1s);
  EXPECT_EQ(CidrOfConfigMap(), "10.0.0.0/8");

  PutNetwork("192.168.0.0/16");
  executor_.RunFor(1s);
  EXPECT_EQ(CidrOfConfigMap(), "192.168.0.0/16");

  server_->Remove(kConfigMaps, "default", "lan");
  executor_.RunFor(1s);
  EXPECT_EQ(CidrOfConfigMap(), "192.168.0.0/16") << "a deleted child is made again";
}

TEST_F(NetworkControllerTest, RetriesWithBackOffWhenTheServerFails) {
  PutNetwork("10.0.0.0/8");
  ASSERT_TRUE(manager_->For<Network>().Owns<ConfigMap>().Reconcile(&ReconcileNetwork));
  for (int i = 0; i < 3; ++i) server_->AnswerNext("PATCH", "configmaps", 500, "broken");
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1s);
  EXPECT_EQ(CidrOfConfigMap(), "10.0.0.0/8");
  // Three that fail, one that succeeds, and one because the ConfigMap it created is a change too.
  EXPECT_EQ(server_->requests("PATCH", "configmaps"), 5u);
}

TEST_F(NetworkControllerTest, RunsAgainAfterTheTimeItAskedFor) {
  PutNetwork("10.0.0.0/8");
  ASSERT_TRUE(manager_->For<Network>().Owns<ConfigMap>().Reconcile(&ReconcileNetwork));
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1min);
  const auto before = server_->requests("PATCH", "configmaps");
  executor_.RunFor(5min);
  EXPECT_EQ(server_->requests("PATCH", "configmaps"), before + 1);
}

TEST_F(NetworkControllerTest, AnExceptionIsAFailureLikeAnyOther) {
  PutNetwork("10.0.0.0/8");
  int calls = 0;
  ASSERT_TRUE(manager_->For<Network>().Reconcile([&calls](const Network&, Context&) -> Result<Action> {
    if (++calls < 3) throw std::runtime_error("oops");
    return Done();
  }));
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1s);
  EXPECT_EQ(calls, 3);
}

TEST_F(NetworkControllerTest, TerminalErrorsAreNotRetried) {
  PutNetwork("10.0.0.0/8");
  int calls = 0;
  ASSERT_TRUE(manager_->For<Network>().Reconcile([&calls](const Network&, Context&) -> Result<Action> {
    ++calls;
    return Terminal(BadRequest("no such network"));
  }));
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1h);
  EXPECT_EQ(calls, 1);
}

TEST_F(NetworkControllerTest, GivesUpAfterMaxRetries) {
  PutNetwork("10.0.0.0/8");
  int calls = 0;
  ASSERT_TRUE(
      manager_->For<Network>().MaxRetries(4).Reconcile([&calls](const Network&, Context&) -> Result<Action> {
        ++calls;
        return Unexpected(InternalError("never works"));
      }));
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(1h);
  EXPECT_EQ(calls, 5);
}

// A reconcile that counts what is in the cache and creates what is missing must not run again before its own
// creations are in the cache, however late they arrive.
TEST_F(NetworkControllerTest, DoesNotRunOnACacheOlderThanItsOwnWrites) {
  PutNetwork("10.0.0.0/8");
  int created = 0;
  ASSERT_TRUE(manager_->For<Network>().Owns<ConfigMap>().Reconcile(
      [&created](const Network& network, Context& ctx) -> Result<Action> {
        if (!ctx.lister<ConfigMap>().List("default").empty()) return Done();
        ConfigMap one{.metadata = ChildOf(network, "lan-" + std::to_string(created++))};
        if (auto made = ctx.client().Create(one); !made) return Unexpected(made.error());
        return Requeue();
      }));
  server_->SetFaults({.slow = 1});
  ASSERT_TRUE(manager_->Start());
  executor_.RunFor(2min);
  EXPECT_EQ(created, 1);
}

TEST_F(NetworkControllerTest, OnlyTheLeaderReconciles) {
  PutNetwork("10.0.0.0/8");
  int first_calls = 0, second_calls = 0;
  const auto count = [](int& calls) {
    return [&calls](const Network&, Context&) -> Result<Action> {
      ++calls;
      return RequeueAfter(1s);
    };
  };
  Manager first(client_, {.name = "m", .leader_election = true, .election = {.identity = "first"}});
  ASSERT_TRUE(first.For<Network>().Reconcile(count(first_calls)));
  ASSERT_TRUE(first.Start());
  executor_.RunFor(10s);
  Manager second(client_, {.name = "m", .leader_election = true, .election = {.identity = "second"}});
  ASSERT_TRUE(second.For<Network>().Reconcile(count(second_calls)));
  ASSERT_TRUE(second.Start());
  executor_.RunFor(1min);
  EXPECT_GT(first_calls, 50);
  EXPECT_EQ(second_calls, 0);

  bool stopped = false;
  first.Stop([&stopped] { stopped = true; });
  executor_.RunFor(10s);
  EXPECT_TRUE(stopped);
  EXPECT_GT(second_calls, 0) << "the lease was released, so nobody has to wait for its end";
  second.Stop();
  executor_.RunFor(1min);
}

}  // namespace
