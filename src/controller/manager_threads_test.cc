// The same machinery on real threads, for the thread sanitizer.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/run/notification.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

class ManagerThreadsTest : public ::testing::Test {
 protected:
  ManagerThreadsTest()
      : machinery_("machinery", 2),
        workers_("worker", 4),
        random_(11),
        server_(std::make_shared<testing::FakeApiServer>(machinery_, random_)),
        runtime_{.executor = machinery_, .random = random_, .metrics = metrics_, .workers = &workers_},
        client_(std::make_shared<RestClient>(server_, runtime_)) {}

  Metrics metrics_;
  ThreadPool machinery_, workers_;
  Random random_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Client client_;
};

TEST_F(ManagerThreadsTest, EveryConfigMapIsReconciledToItsLatest) {
  constexpr int kObjects = 50, kRounds = 20;
  Mutex mu;
  std::map<std::string, std::string> seen;
  Notification<bool> all_seen;
  std::stop_source stop;
  Thread runner("runner", [&] {
    Manager manager(client_, {.name = "threads"});
    Status made = manager.For<ConfigMap>().Owns<Secret>().Workers(4).Reconcile(
        [&](const ConfigMap& object, Context& ctx) -> Result<Action> {
          ctx.recorder().Normal(object, "Seen", "seen");
          Secret child{.metadata = ChildOf(object)};
          child.string_data["n"] = object.data.at("n");
          if (auto applied = ctx.client().Apply(child, {.field_manager = "t"}); !applied)
            return Unexpected(applied.error());
          MutexLock lock(mu);
          seen[object.metadata.name] = object.data.at("n");
          bool complete = seen.size() == kObjects;
          for (const auto& [name, n] : seen) complete = complete && n == std::to_string(kRounds - 1);
          if (complete) all_seen.Set(true);
          return Done();
        });
    EXPECT_TRUE(made);
    EXPECT_TRUE(manager.Run(stop.get_token()));
  });
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = "c" + std::to_string(i);
      json::Value object =
          server_->Find("/api/v1/configmaps", "default", name)
              .value_or(json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "default"}}}});
      object["data"]["n"] = std::to_string(round);
      server_->Put("/api/v1/configmaps", std::move(object));
      if (i == 25 && round % 5 == 0) server_->CutWatches();
    }
  all_seen.Wait();
  stop.request_stop();
  runner.Join();
}

TEST_F(ManagerThreadsTest, AFailingRunnableIsStartedAgain) {
  std::atomic<int> starts = 0;
  Notification<bool> third;
  std::stop_source stop;
  Thread runner("runner", [&] {
    Manager manager(client_, {.name = "threads"});
    manager.AddRunnable("flaky", [&](std::stop_token) -> Status {
      const int n = ++starts;
      if (n == 1) return Unexpected(InternalError("once"));
      third.Set(true);
      return {};
    });
    EXPECT_TRUE(manager.Run(stop.get_token()));
  });
  third.Wait();
  stop.request_stop();
  runner.Join();
  EXPECT_EQ(starts, 2);
}

}  // namespace
}  // namespace flyball
