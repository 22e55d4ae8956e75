#include "base/run/task.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/run/notification.h"
#include "base/run/sim_executor.h"
#include "base/values/result.h"

namespace flyball {
namespace {

Task<int> Add(int a, int b) {
  co_return a + b;
}

Task<int> Sum(int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total = co_await Add(total, 1);
  co_return total;
}

TEST(TaskTest, AwaitsManyInARow) {
  int got = 0;
  auto body = [&]() -> Task<void> { got = co_await Sum(1000); };
  bool done = false;
  Spawn(body(), [&](std::exception_ptr e) { done = !e; });
  EXPECT_TRUE(done);
  EXPECT_EQ(got, 1000);
}

TEST(TaskTest, AnExceptionReachesWhoeverSpawned) {
  auto body = []() -> Task<void> {
    co_await Add(1, 2);
    throw std::runtime_error("broken");
  };
  std::exception_ptr caught;
  Spawn(body(), [&](std::exception_ptr e) { caught = e; });
  EXPECT_TRUE(caught);
}

TEST(TaskTest, CallbackThatCompletesAtOnceGoesOnInline) {
  SimExecutor sim(1);
  int got = 0;
  auto body = [&]() -> Task<void> {
    auto waiting = Callback<int>(sim, [](UniqueFunction<void(int)> done) { done(5); });
    got = co_await waiting;
  };
  Spawn(body(), [](std::exception_ptr) {});
  EXPECT_EQ(got, 5);  // no closure had to run
}

TEST(TaskTest, CallbackThatCompletesLaterGoesOnOnTheExecutor) {
  SimExecutor sim(1);
  UniqueFunction<void(int)> later;
  int got = 0;
  auto body = [&]() -> Task<void> {
    auto waiting = Callback<int>(sim, [&](UniqueFunction<void(int)> done) { later = std::move(done); });
    got = co_await waiting;
  };
  Spawn(body(), [](std::exception_ptr) {});
  later(6);
  EXPECT_EQ(got, 0);
  sim.RunReady();
  EXPECT_EQ(got, 6);
}

Result<int> Half(int n) {
  if (n % 2) return Unexpected(BadRequest("odd"));
  return n / 2;
}

Result<int> Quarter(int n) {
  FLYBALL_ASSIGN(const int half, Half(n));
  return Half(half);
}

TEST(ResultTest, TheFirstErrorIsTheAnswer) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().message(), "odd");
  EXPECT_TRUE(Quarter(7).error().Is(Reason::kBadRequest));
  EXPECT_EQ(Quarter(7).error().code(), 400);
}

TEST(ErrorTest, ReasonsAndCodesAreKubernetes) {
  EXPECT_EQ(ReasonName(Reason::kAlreadyExists), "AlreadyExists");
  EXPECT_EQ(CodeOf(Reason::kInvalid), 422);
  EXPECT_EQ(ReasonFromName("Conflict"), Reason::kConflict);
  EXPECT_EQ(ReasonFromName("no such reason"), Reason::kUnknown);
  const Error error = Error(Reason::kConflict, "x").Annotate("pods");
  EXPECT_EQ(error.message(), "pods: x");
  EXPECT_TRUE(error.IsRetryable());
  EXPECT_FALSE(BadRequest("x").IsRetryable());
}

}  // namespace
}  // namespace flyball
