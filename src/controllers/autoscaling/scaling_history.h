// ScalingHistory: what was recommended and done for one autoscaler, and what that allows now (upstream:
// stabilizeRecommendation, convertDesiredReplicasWithBehaviorRate).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/types/autoscaling.h"
#include "base/run/clock.h"

namespace flyball::controllers {

// How far one wants to go and may.
struct ScalingWish {
  std::int32_t current = 0, desired = 0, least = 1, most = 0;
};

// What came of a wish, with the reasons of the conditions AbleToScale and ScalingLimited.
struct AllowedReplicas {
  std::int32_t replicas = 0;
  std::string able_reason, able_message;
  bool limited = false;
  std::string limited_reason, limited_message;
};

// A value; thread-compatible.
class ScalingHistory {
 public:
  // Upstream: --horizontal-pod-autoscaler-downscale-stabilization.
  static constexpr Duration kDownscaleStabilization = std::chrono::minutes(5);

  // The first size that was seen counts as a recommendation.
  void Begin(std::int32_t replicas, TimePoint now);
  AllowedReplicas Allow(const ScalingWish& wish, TimePoint now);
  AllowedReplicas Allow(const ScalingWish& wish, const HorizontalPodAutoscalerBehavior& behavior,
                        TimePoint now);
  void Scaled(std::int32_t before, std::int32_t after, TimePoint now);

 private:
  struct Recommendation {
    std::int32_t replicas = 0;
    TimePoint at{};
  };
  struct Change {
    std::int32_t by = 0;  // never negative
    TimePoint at{};
  };
  std::int32_t Stabilize(const ScalingWish& wish, Duration up, Duration down, TimePoint now);
  std::int32_t SizeBefore(std::int32_t current, std::int32_t seconds, TimePoint now) const;
  std::int32_t UpLimit(std::int32_t current, const HPAScalingRules& rules, TimePoint now) const;
  std::int32_t DownLimit(std::int32_t current, const HPAScalingRules& rules, TimePoint now) const;
  void LimitRate(const ScalingWish& wish, const HorizontalPodAutoscalerBehavior& behavior, TimePoint now,
                 AllowedReplicas& allowed) const;

  std::vector<Recommendation> recommendations_;
  std::vector<Change> ups_, downs_;
};

}  // namespace flyball::controllers
