#include "base/run/executor.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/run/notification.h"
#include "base/run/sim_executor.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

TEST(ThreadPoolTest, RunsWhatIsPostedAndTimersInTheirTime) {
  ThreadPool pool("test", 2);
  Notification<int> done;
  pool.PostAfter(1ms, [&] { pool.Post([&] { done.Set(7); }); });
  EXPECT_EQ(done.Wait(), 7);
}

TEST(ThreadPoolTest, CancelledTimerNeverRuns) {
  ThreadPool pool("test", 1);
  std::atomic<bool> ran{false};
  const TimerId timer = pool.PostAfter(1h, [&] { ran = true; });
  EXPECT_TRUE(pool.Cancel(timer));
  EXPECT_FALSE(pool.Cancel(timer));
  pool.Stop();
  EXPECT_FALSE(ran);
}

// A cancelled timer may still be what the timer thread sleeps for.
TEST(ThreadPoolTest, TimersAroundACancelledOneRunInTheirTime) {
  ThreadPool pool("test", 1);
  Notification<int> before, after;
  const TimerId cancelled = pool.PostAfter(10ms, [&] { before.Set(0); });
  EXPECT_TRUE(pool.Cancel(cancelled));
  pool.PostAfter(20ms, [&] { after.Set(2); });
  pool.PostAfter(1ms, [&] { before.Set(1); });
  EXPECT_EQ(before.Wait(), 1);
  EXPECT_EQ(after.Wait(), 2);
  EXPECT_FALSE(pool.Cancel(cancelled));
}

TEST(ThreadPoolTest, ASpareWorksInPlaceOfAStuckThreadAndIsGivenBack) {
  ThreadPool pool("test", 1);
  for (int i = 0; i < 20; ++i) {
    const auto release = std::make_shared<Notification<bool>>(),
               stuck = std::make_shared<Notification<bool>>(),
               others = std::make_shared<Notification<bool>>();
    pool.Post([stuck, release] {
      stuck->Set(true);
      release->Wait();
    });
    stuck->Wait();
    pool.AddSpare();
    pool.Post([others] { others->Set(true); });
    EXPECT_TRUE(others->Wait());
    release->Set(true);
    pool.RemoveSpare();
  }
  const auto last = std::make_shared<Notification<bool>>();
  pool.Post([last] { last->Set(true); });
  EXPECT_TRUE(last->Wait()) << "one is left";
}

TEST(StrandTest, RunsOneAtATimeInOrder) {
  ThreadPool pool("test", 4);
  Strand strand(pool);
  std::vector<int> order;  // no lock: the strand acts as one
  Notification<bool> done;
  for (int i = 0; i < 1000; ++i) strand.Post([&order, i] { order.push_back(i); });
  strand.Post([&] { done.Set(true); });
  done.Wait();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(StrandTest, MayBeDestroyedWithWorkPending) {
  ThreadPool pool("test", 1);
  Notification<bool> done;
  {
    Strand strand(pool);
    strand.Post([&] { done.Set(true); });
  }
  EXPECT_TRUE(done.Wait());
}

// A closure that owned the owner of its strand used to keep both alive forever once the executor was gone.
TEST(StrandTest, GoesWithItsExecutorThoughItsClosuresOwnIt) {
  auto executor = std::make_unique<SimExecutor>(1);
  auto strand = std::make_shared<Strand>(*executor);
  for (int i = 0; i < 2; ++i) strand->Post([strand] { strand->Post([strand] {}); });
  executor->RunUntil([ran = 0]() mutable { return ran++ == 1; });
  const std::weak_ptr<Strand> left = strand;
  strand = nullptr;
  EXPECT_FALSE(left.expired());
  executor = nullptr;
  EXPECT_TRUE(left.expired());
}

TEST(SimExecutorTest, HoursPassAtOnce) {
  SimExecutor sim(1);
  std::vector<int> order;
  sim.PostAfter(2h, [&] { order.push_back(2); });
  sim.PostAfter(1h, [&] { order.push_back(1); });
  const auto start = sim.clock().Now();
  sim.RunFor(3h);
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_EQ(sim.clock().Now() - start, 3h);
}

TEST(SimExecutorTest, TheSameSeedGivesTheSameOrder) {
  const auto run = [](std::uint64_t seed) {
    SimExecutor sim(seed);
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) sim.Post([&order, i] { order.push_back(i); });
    sim.RunReady();
    return order;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(SimExecutorTest, RunUntilSaysWhenNothingIsLeft) {
  SimExecutor sim(1);
  bool flag = false;
  sim.PostAfter(5s, [&] { flag = true; });
  EXPECT_FALSE(sim.RunUntil([&] { return flag; }, 1s));
  EXPECT_TRUE(sim.RunUntil([&] { return flag; }));
}

}  // namespace
}  // namespace flyball
