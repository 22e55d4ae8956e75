// A controller that throws, blocks or falls behind is reported and restarted while others continue.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"
#include "controller/health_server.h"
#include "net/client/http_client.h"

namespace flyball {
namespace {

class SupervisionTest : public ::testing::Test {
 protected:
  SupervisionTest()
      : executor_(1),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        manager_(Client(std::make_shared<RestClient>(server_, runtime_))) {}
  ~SupervisionTest() override {
    manager_.Stop();
    executor_.RunFor(1min);
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Manager manager_;
};

TEST_F(SupervisionTest, AControllerThatKeepsThrowingIsPausedReportedAndStartedAgain) {
  int calls = 0, others = 0;
  bool broken = true;
  auto thrower = manager_.AddController({.name = "thrower", .limits = {.max = 5ms, .qps = 0}},
                                        [&](const ObjectKey&, Context&) -> Result<Action> {
                                          ++calls;
                                          if (broken) throw std::runtime_error("oops");
                                          return Done();
                                        });
  auto other = manager_.AddController({.name = "other"}, [&](const ObjectKey&, Context&) -> Result<Action> {
    ++others;
    return RequeueAfter(100ms);
  });
  ASSERT_TRUE(manager_.Start());
  thrower->Enqueue({"", "a"});
  other->Enqueue({"", "b"});
  executor_.RunFor(500ms);
  EXPECT_EQ(calls, WorkerSupervisor::kThrowsBeforeRestart);
  EXPECT_EQ(manager_.Healthy().error().message(),
            "controller-thrower: its reconciles threw; it waits to start again");
  EXPECT_NE(metrics_.Serialize().find("flyball_controller_paused{controller=\"thrower\"} 1"),
            std::string::npos);
  // Restarted after 1 s, 2 s, 4 s, ... at most a minute.
  executor_.RunFor(10s);
  EXPECT_EQ(calls, WorkerSupervisor::kThrowsBeforeRestart + 3);
  executor_.RunFor(10min);
  EXPECT_NEAR(calls, WorkerSupervisor::kThrowsBeforeRestart + 6 + 9, 2);
  EXPECT_GT(others, 5000) << "the others go on";
  broken = false;
  executor_.RunFor(2min);
  EXPECT_TRUE(manager_.Healthy());
  EXPECT_NE(metrics_.Serialize().find("flyball_controller_restarts_total{controller=\"thrower\"}"),
            std::string::npos);
}

TEST_F(SupervisionTest, AControllerThatFallsBehindIsReportedUntilItHasCaughtUp) {
  // Not started: there are no workers.
  auto slow = manager_.AddController({.name = "slow"},
                                     [](const ObjectKey&, Context&) -> Result<Action> { return Done(); });
  slow->Enqueue({"", "a"});
  executor_.RunFor(4min);
  EXPECT_TRUE(manager_.Healthy());
  executor_.RunFor(2min);
  EXPECT_EQ(manager_.Healthy().error().message(),
            "controller-slow: it falls behind: the oldest key has waited for 360 s");
  ASSERT_TRUE(manager_.Start());
  executor_.RunFor(1s);
  EXPECT_TRUE(manager_.Healthy());
}

TEST_F(SupervisionTest, ReadinessWaitsForTheCaches) {
  ASSERT_TRUE(manager_.For<ConfigMap>().Reconcile(
      [](const ConfigMap&, Context&) -> Result<Action> { return Done(); }));
  EXPECT_EQ(manager_.Ready().error().message(), "caches: they have not synced yet");
  ASSERT_TRUE(manager_.Start());
  executor_.RunFor(1s);
  EXPECT_TRUE(manager_.Ready());
}

class SupervisionThreadsTest : public ::testing::Test {
 protected:
  SupervisionThreadsTest()
      : machinery_("machinery", 2),
        workers_("worker", 1),
        random_(3),
        server_(std::make_shared<testing::FakeApiServer>(machinery_, random_)),
        runtime_{.executor = machinery_, .random = random_, .metrics = metrics_, .workers = &workers_},
        manager_(Client(std::make_shared<RestClient>(server_, runtime_))) {}

  std::string Get(int port, const std::string& target, int* status) {
    auto client = net::NewHttpClient({.url = "http://127.0.0.1:" + std::to_string(port)});
    EXPECT_TRUE(client);
    net::Request request;
    request.target = target;
    auto answer = net::RoundTrip(**client, request, machinery_, 30s);
    if (!answer) return answer.error().message();
    *status = answer->status;
    return answer->body;
  }

  Metrics metrics_;
  ThreadPool machinery_, workers_;
  Random random_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Manager manager_;
};

// One thread for all workers, so only a spare one can run the second key.
TEST_F(SupervisionThreadsTest, AStuckWorkerIsReplacedAndReportedUntilItReturns) {
  Notification<bool> release, second_ran, returned;
  std::atomic<bool> cancelled = false;
  auto blocked = manager_.AddController({.name = "blocked", .stuck_after = 200ms},
                                        [&](const ObjectKey& key, Context& ctx) -> Result<Action> {
                                          if (key.name == "second") {
                                            second_ran.Set(true);
                                            return Done();
                                          }
                                          release.Wait();
                                          cancelled = ctx.cancelled().stop_requested();
                                          returned.Set(true);
                                          return Done();
                                        });
  auto health = HealthServer::Start("127.0.0.1:0", manager_);
  ASSERT_TRUE(health);
  ASSERT_TRUE(manager_.Start());
  int status = 0;
  EXPECT_EQ(Get((*health)->port(), "/healthz", &status), "ok");
  blocked->Enqueue({"", "first"});
  blocked->Enqueue({"", "second"});
  second_ran.Wait();
  const std::string report = Get((*health)->port(), "/healthz", &status);
  EXPECT_EQ(status, 500);
  EXPECT_NE(report.find("[-]controller-blocked failed: the reconcile of first is stuck since"),
            std::string::npos)
      << report;
  const std::string metrics = Get((*health)->port(), "/metrics", &status);
  EXPECT_NE(metrics.find("flyball_controller_stuck_workers{controller=\"blocked\"} 1"), std::string::npos);
  EXPECT_NE(metrics.find("workqueue_longest_running_processor_seconds{name=\"blocked\"}"), std::string::npos);
  release.Set(true);
  returned.Wait();
  EXPECT_TRUE(cancelled) << "its client calls would have failed";
  // The spare worker is removed a moment after the reconciler has returned.
  while (!manager_.Healthy()) SleepFor(1ms);
  EXPECT_EQ(Get((*health)->port(), "/readyz?verbose", &status), "[+]caches ok\nreadyz check passed\n");
  Notification<bool> stopped;
  manager_.Stop([&] { stopped.Set(true); });
  stopped.Wait();
}

}  // namespace
}  // namespace flyball
