#include "server/registry/attempt.h"

#include <gtest/gtest.h>

#include <string>

namespace flyball::server {
namespace {

TEST(AttemptTest, WhatIsDoneIsNotTriedAgain) {
  Attempt<int> done(7);
  EXPECT_FALSE(done.CanRetry(1));
  const Result<std::string> text =
      std::move(done).As<std::string>([](int n) { return std::to_string(n); }).Outcome();
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "7");
}

TEST(AttemptTest, ARetryIsTriedAsOftenAsItSays) {
  Attempt<int> retry(Retry{3, Error(Reason::kConflict, "somebody else was faster")});
  EXPECT_TRUE(retry.CanRetry(1));
  EXPECT_TRUE(retry.CanRetry(2));
  EXPECT_FALSE(retry.CanRetry(3));
  const Result<std::string> outcome =
      std::move(retry).As<std::string>([](int) { return std::string(); }).Outcome();
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().Is(Reason::kConflict));
}

// A user who insists on one version.
TEST(AttemptTest, NoTriesMeanTheFirstWasTheLast) {
  EXPECT_FALSE(Attempt<int>(Retry{0, Error(Reason::kConflict, "modified")}).CanRetry(1));
}

TEST(AttemptTest, WhatIsRefusedStaysRefused) {
  Attempt<int> refused(Unexpected(BadRequest("no")));
  EXPECT_FALSE(refused.CanRetry(1));
  EXPECT_EQ(std::move(refused).Outcome().error().message(), "no");
}

}  // namespace
}  // namespace flyball::server
