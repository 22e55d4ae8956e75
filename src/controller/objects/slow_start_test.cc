#include "controller/objects/slow_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/run/executor.h"
#include "base/run/notification.h"

namespace flyball {
namespace {

TEST(SlowStartTest, OnlySoManyAreUnderWayAtATime) {
  ThreadPool pool("answers", 1);
  Notification<bool> full;
  pool.Post([&full] { full.Wait(); });  // no response before the maximum is in flight
  std::atomic<int> under_way{0};
  int most = 0;
  const BatchResult result = StartAll(5 * kMostUnderWay, [&](int, UniqueFunction<void(Status)> done) {
    const int now = ++under_way;
    most = std::max(most, now);
    pool.Post([&under_way, done = std::move(done)]() mutable {
      --under_way;
      done({});
    });
    if (now == kMostUnderWay) full.Set(true);
  });
  EXPECT_EQ(result.succeeded, 5 * kMostUnderWay);
  EXPECT_EQ(most, kMostUnderWay);
}

TEST(SlowStartTest, ABatchWithAFailureIsTheLast) {
  int started = 0;
  const BatchResult result = SlowStartEach(100, [&](int i) -> Status {
    ++started;
    if (i == 4) return Unexpected(BadRequest("no"));
    return {};
  });
  EXPECT_EQ(started, 1 + 2 + 4);
  EXPECT_EQ(result.succeeded, 6);
  EXPECT_FALSE(result.status);
}

}  // namespace
}  // namespace flyball
