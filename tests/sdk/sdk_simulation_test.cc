// Server and controllers in one thread on virtual time.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "server/api_server.h"
#include "server_fixture.h"
#include "store/memory/memory_store.h"

namespace flyball {
namespace {

TEST(SdkSimulationTest, AControllerAndTheRealServerOnVirtualTime) {
  SimExecutor executor(4);
  Metrics metrics;
  auto store = store::NewMemoryStore(executor);
  auto api = server::ApiServer::Make({}, *store, executor, executor.random(), metrics);
  ASSERT_TRUE(api) << api.error().ToString();
  const Runtime runtime{
      .executor = executor, .random = executor.random(), .metrics = metrics, .may_block = false};
  const Client client(std::make_shared<RestClient>(
      std::shared_ptr<net::Transport>((*api)->InProcess(tests::Admin())), runtime));

  int reconciled = 0;
  Manager manager(client, {.name = "sim"});
  ASSERT_TRUE(manager.For<ConfigMap>().Owns<Secret>().Reconcile(
      [&reconciled](const ConfigMap& object, Context& ctx) -> Result<Action> {
        if (object.metadata.name != "src") return Done();
        ++reconciled;
        Secret want{.metadata = ChildOf(object)};
        want.string_data["k"] = object.data.at("k");
        if (auto applied = ctx.client().Apply(want, {.field_manager = "copier"}); !applied)
          return Unexpected(applied.error());
        return RequeueAfter(1h);
      }));
  ASSERT_TRUE(manager.Start());
  executor.RunFor(1s);

  ConfigMap source{.data = {{"k", "v"}}};
  source.metadata.name = "src";
  source.metadata.namespace_ = "default";
  auto made = client.Create(source);
  ASSERT_TRUE(made) << made.error().ToString();
  executor.RunFor(1s);
  auto copy = client.Get<Secret>("default", "src");
  ASSERT_TRUE(copy) << copy.error().ToString();
  EXPECT_EQ(copy->data.at("k"), "v");
  const int before = reconciled;
  executor.RunFor(10h);
  EXPECT_EQ(reconciled, before + 10);
  manager.Stop();
  executor.RunFor(1min);
  (*api)->Stop();
  executor.RunFor(1min);
}

}  // namespace
}  // namespace flyball
