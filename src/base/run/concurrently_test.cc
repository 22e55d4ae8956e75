#include "base/run/concurrently.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/run/notification.h"

namespace flyball {
namespace {

Status RunAtATime(std::size_t count, std::size_t at_a_time, std::function<Task<Status>(std::size_t)> fn) {
  ThreadPool pool("test", 3);
  Notification<Status> outcome;
  const auto run = [&]() -> Task<void> {
    co_await ResumeOn(pool);
    outcome.Set(co_await ForEachAtATime(pool, count, at_a_time, fn));
  };
  Spawn(run(), [](std::exception_ptr) {});
  return outcome.Wait();
}

TEST(ForEachAtATime, AwaitsEveryTaskAndKeepsTheLimit) {
  ThreadPool timers("test-timers", 1);
  std::vector<std::atomic<int>> runs(500);
  std::atomic<int> running{0}, most{0};
  const Status status = RunAtATime(runs.size(), 7, [&](std::size_t i) -> Task<Status> {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    co_await ResumeOn(timers);
    ++runs[i];
    --running;
    co_return Status();
  });
  EXPECT_TRUE(status.has_value());
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  EXPECT_LE(most, 7);
  EXPECT_GT(most, 1);
}

TEST(ForEachAtATime, NothingToDo) {
  EXPECT_TRUE(RunAtATime(0, 4, [](std::size_t) -> Task<Status> { co_return Status(); }).has_value());
}

TEST(ForEachAtATime, TasksThatNeverSuspend) {
  std::atomic<int> runs{0};
  const Status status = RunAtATime(20000, 64, [&](std::size_t) -> Task<Status> {
    ++runs;
    co_return Status();
  });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(runs, 20000);
}

TEST(ForEachAtATime, StopsAtAnErrorAndReturnsIt) {
  std::atomic<int> runs{0};
  const Status status = RunAtATime(100000, 2, [&](std::size_t i) -> Task<Status> {
    ++runs;
    if (i == 10) co_return Unexpected(BadRequest("ten"));
    co_return Status();
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message(), "ten");
  EXPECT_LT(runs, 100000);
}

}  // namespace
}  // namespace flyball
