#include "server/handlers/request_drain.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

TEST(RequestDrainTest, ClosingWaitsForRequestsUnderWayButNotForWatches) {
  RequestDrain drain;
  auto request = drain.Enter(true);
  const auto watch = drain.Enter(false);
  ASSERT_TRUE(request && watch);
  bool drained = false;
  drain.Close([&] { drained = true; });
  EXPECT_FALSE(drained);
  EXPECT_FALSE(drain.Enter(true));
  EXPECT_FALSE(drain.Enter(false));
  request.reset();
  EXPECT_TRUE(drained);
}

TEST(RequestDrainTest, ClosingIsDoneAtOnceIfNothingIsUnderWay) {
  RequestDrain drain;
  drain.Enter(true).reset();
  bool drained = false;
  drain.Close([&] { drained = true; });
  EXPECT_TRUE(drained);
}

TEST(RequestDrainTest, RefusalsAskToComeBackOnAnotherConnection) {
  const Answer refusal = RequestDrain::Refusal();
  EXPECT_EQ(refusal.code, 429);
  EXPECT_EQ(refusal.headers.Get("retry-after"), "5");
  EXPECT_EQ(refusal.headers.Get("connection"), "close");
  EXPECT_EQ(refusal.body, "The apiserver is shutting down, please try again later.\n");
}

TEST(RequestDrainTest, HealthMetricsAndApiServersAreExempt) {
  EXPECT_TRUE(RequestDrain::IsExempt("/readyz/etcd", "curl"));
  EXPECT_TRUE(RequestDrain::IsExempt("/metrics", "Prometheus"));
  EXPECT_TRUE(RequestDrain::IsExempt("/api/v1/pods", "kube-apiserver/v1.37.1"));
  EXPECT_FALSE(RequestDrain::IsExempt("/api/v1/pods", "kubectl/v1.37.1"));
}

}  // namespace
}  // namespace flyball::server
