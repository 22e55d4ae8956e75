#include "controller/queue/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/run/sim_executor.h"
#include "base/run/thread.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

class WorkQueueTest : public ::testing::Test {
 protected:
  WorkQueueTest() : executor_(1), queue_(executor_) {}
  std::vector<std::string> Drain() {
    std::vector<std::string> out;
    while (auto key = queue_.TryGet()) {
      out.push_back(*key);
      queue_.Done(*key);
    }
    return out;
  }
  SimExecutor executor_;
  WorkQueue<std::string> queue_;
};

TEST_F(WorkQueueTest, AKeyWaitsOnce) {
  queue_.Add("a");
  queue_.Add("b");
  queue_.Add("a");
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_EQ(Drain(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(WorkQueueTest, AddedWhileProcessingItRunsAgainAfterDone) {
  queue_.Add("a");
  ASSERT_EQ(queue_.TryGet(), "a");
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.TryGet(), std::nullopt) << "never two workers on one key";
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, DoneOfAKeyNotTakenIsIgnored) {
  queue_.Add("a");
  queue_.Done("a");
  queue_.Done("unknown");
  EXPECT_EQ(Drain(), std::vector<std::string>{"a"});
}

TEST_F(WorkQueueTest, OfDelayedAddsTheEarliestCounts) {
  queue_.AddAfter("a", 10s);
  queue_.AddAfter("a", 5s);
  queue_.AddAfter("a", 20s);
  executor_.RunFor(4999ms);
  EXPECT_EQ(queue_.size(), 0u);
  executor_.RunFor(2ms);
  EXPECT_EQ(Drain(), std::vector<std::string>{"a"});
  executor_.RunFor(1min);
  EXPECT_EQ(queue_.size(), 0u) << "the later ones were replaced";
}

TEST_F(WorkQueueTest, BackOffDoublesUntilForgotten) {
  Duration expected = 5ms;
  for (int i = 0; i < 5; ++i, expected *= 2) {
    queue_.AddRateLimited("a");
    executor_.RunFor(expected - 1ms);
    EXPECT_EQ(queue_.size(), 0u) << i;
    executor_.RunFor(2ms);
    EXPECT_EQ(Drain().size(), 1u) << i;
  }
  EXPECT_EQ(queue_.Failures("a"), 5);
  queue_.Forget("a");
  queue_.AddRateLimited("a");
  executor_.RunFor(6ms);
  EXPECT_EQ(Drain().size(), 1u);
}

TEST_F(WorkQueueTest, TheBucketLimitsAllKeysTogether) {
  for (int i = 0; i < 120; ++i) queue_.AddRateLimited(std::to_string(i));
  executor_.RunFor(50ms);
  EXPECT_EQ(queue_.size(), 100u);
  executor_.RunFor(2s);
  EXPECT_EQ(queue_.size(), 120u);
}

TEST_F(WorkQueueTest, HigherPrioritiesGoFirstAndNothingStarves) {
  for (int i = 0; i < 10; ++i) queue_.Add("low" + std::to_string(i), Priority::kLow);
  for (int i = 0; i < 100; ++i) queue_.Add("normal" + std::to_string(i));
  queue_.Add("high", Priority::kHigh);
  const auto order = Drain();
  EXPECT_EQ(order[0], "high");
  EXPECT_EQ(order[1], "normal0");
  const auto first_low = std::find(order.begin(), order.end(), "low0") - order.begin();
  EXPECT_LT(first_low, 20) << "one take in sixteen goes to the lowest";
}

TEST_F(WorkQueueTest, AHigherPriorityLiftsAWaitingKey) {
  queue_.Add("a", Priority::kLow);
  queue_.Add("b");
  queue_.Add("a", Priority::kHigh);
  EXPECT_EQ(Drain(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(WorkQueueTest, AfterShutDownAddsAreDroppedAndTheRestIsGivenOut) {
  queue_.Add("a");
  queue_.AddAfter("later", 1s);
  queue_.ShutDown();
  queue_.Add("b");
  executor_.RunFor(1min);
  EXPECT_EQ(queue_.Get(), "a");
  queue_.Done("a");
  EXPECT_EQ(queue_.Get(), std::nullopt);
}

TEST_F(WorkQueueTest, ReadyIsCalledForEveryKeyThatCanBeTaken) {
  int ready = 0;
  queue_.OnReady([&] { ++ready; });
  queue_.Add("a");
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(ready, 2);
  (void)queue_.TryGet();
  queue_.Add("a");
  EXPECT_EQ(ready, 2) << "it is being worked on";
  queue_.Done("a");
  EXPECT_EQ(ready, 3);
}

TEST_F(WorkQueueTest, MetricsUseUpstreamNames) {
  Metrics metrics;
  WorkQueue<std::string> queue(executor_, {.name = "q", .metrics = &metrics});
  queue.Add("a");
  (void)queue.TryGet();
  queue.Done("a");
  queue.AddRateLimited("a");
  const std::string text = metrics.Serialize();
  EXPECT_NE(text.find("workqueue_adds_total{name=\"q\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_retries_total{name=\"q\"} 1"), std::string::npos);
  EXPECT_NE(text.find("workqueue_work_duration_seconds"), std::string::npos);
}

TEST(WorkQueueThreadsTest, NoKeyIsLostNorWorkedOnTwiceAtOnce) {
  ThreadPool pool("timers", 1);
  WorkQueue<int> queue(pool);
  constexpr int kKeys = 50, kAdds = 5000;
  std::array<std::atomic<int>, kKeys> busy{}, runs{}, last_seen{};
  std::array<std::atomic<int>, kKeys> latest{};
  std::vector<Thread> workers, producers;
  for (int w = 0; w < 4; ++w)
    workers.emplace_back("worker", [&] {
      while (auto key = queue.Get()) {
        const auto k = static_cast<std::size_t>(*key);
        EXPECT_EQ(busy[k].fetch_add(1), 0);
        last_seen[k] = latest[k].load();
        ++runs[k];
        busy[k].fetch_sub(1);
        queue.Done(*key);
      }
    });
  for (int p = 0; p < 4; ++p)
    producers.emplace_back("producer", [&, p] {
      for (int i = 0; i < kAdds; ++i) {
        const int key = (i * 7 + p) % kKeys;
        ++latest[static_cast<std::size_t>(key)];
        queue.Add(key, static_cast<Priority>(i % 3));  // raises a key that another thread may be taking
      }
    });
  producers.clear();
  queue.ShutDown();
  workers.clear();
  for (std::size_t k = 0; k < kKeys; ++k) EXPECT_EQ(last_seen[k], latest[k]) << "the last change was seen";
}

}  // namespace
}  // namespace flyball
