#include "controllers/autoscaling/scaling_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flyball::controllers {
namespace {

// Longer than any window or period that the API accepts.
constexpr Duration kForgotten = std::chrono::hours(1);
// Without a behaviour: at most twice as many, or four.
constexpr std::int32_t kUpFactor = 2, kUpLeast = 4;

constexpr char kDownStabilized[] =
    "recent recommendations were higher than current one, applying the highest recent recommendation";
constexpr char kUpStabilized[] =
    "recent recommendations were lower than current one, applying the lowest recent recommendation";

void SetAble(AllowedReplicas& allowed, bool stabilized, const char* reason, const char* message) {
  allowed.able_reason = stabilized ? reason : "ReadyForNewScale";
  allowed.able_message = stabilized ? message : "recommended size matches current size";
}

void SetLimited(AllowedReplicas& allowed, std::int32_t replicas, const char* reason, const char* message) {
  allowed.limited = replicas != allowed.replicas;
  allowed.replicas = replicas;
  allowed.limited_reason = reason;
  allowed.limited_message = message;
}

constexpr char kTooFast[] = "the desired replica count is increasing faster than the maximum scale rate";
constexpr char kTooMany[] = "the desired replica count is more than the maximum replica count";
constexpr char kTooFastDown[] = "the desired replica count is decreasing faster than the maximum scale rate";
constexpr char kTooFew[] = "the desired replica count is less than the minimum replica count";
constexpr char kInRange[] = "the desired count is within the acceptable range";

Duration WindowOf(const api::Optional<HPAScalingRules>& rules, Duration otherwise) {
  if (!rules || !rules->stabilization_window_seconds) return otherwise;
  return std::chrono::seconds(*rules->stabilization_window_seconds);
}

// What the API server sets where a behaviour says nothing.
HPAScalingRules RulesOr(const api::Optional<HPAScalingRules>& rules, bool up) {
  if (rules && !rules->policies.empty()) return *rules;
  HPAScalingRules made = rules ? *rules : HPAScalingRules{};
  made.policies = {{.type = "Percent", .value = 100, .period_seconds = 15}};
  if (up) made.policies.push_back({.type = "Pods", .value = kUpLeast, .period_seconds = 15});
  return made;
}

}  // namespace

void ScalingHistory::Begin(std::int32_t replicas, TimePoint now) {
  if (recommendations_.empty()) recommendations_.push_back({replicas, now});
}

// Up by the least that was recommended within `up`, down by the most within `down`.
std::int32_t ScalingHistory::Stabilize(const ScalingWish& wish, Duration up, Duration down, TimePoint now) {
  std::int32_t least = wish.desired, most = wish.desired;
  for (const Recommendation& past : recommendations_) {
    if (past.at > now - up) least = std::min(least, past.replicas);
    if (past.at > now - down) most = std::max(most, past.replicas);
  }
  std::erase_if(recommendations_, [&](const Recommendation& past) { return past.at < now - kForgotten; });
  recommendations_.push_back({wish.desired, now});
  return std::min(std::max(wish.current, least), most);
}

AllowedReplicas ScalingHistory::Allow(const ScalingWish& wish, TimePoint now) {
  AllowedReplicas allowed;
  std::int32_t most = wish.desired;
  for (const Recommendation& past : recommendations_)
    if (past.at >= now - kDownscaleStabilization) most = std::max(most, past.replicas);
  std::erase_if(recommendations_,
                [&](const Recommendation& past) { return past.at < now - kDownscaleStabilization; });
  recommendations_.push_back({wish.desired, now});
  allowed.replicas = most;
  SetAble(allowed, most != wish.desired, "ScaleDownStabilized", kDownStabilized);
  const std::int32_t up_limit = std::max(kUpFactor * wish.current, kUpLeast);
  const bool rate = wish.most > up_limit;
  if (most < wish.least)
    SetLimited(allowed, wish.least, "TooFewReplicas", kTooFew);
  else if (most > std::min(wish.most, up_limit))
    SetLimited(allowed, std::min(wish.most, up_limit), rate ? "ScaleUpLimit" : "TooManyReplicas",
               rate ? kTooFast : kTooMany);
  else
    SetLimited(allowed, most, "DesiredWithinRange", kInRange);
  return allowed;
}

AllowedReplicas ScalingHistory::Allow(const ScalingWish& wish,
                                      const HorizontalPodAutoscalerBehavior& behavior, TimePoint now) {
  AllowedReplicas allowed;
  allowed.replicas = Stabilize(wish, WindowOf(behavior.scale_up, Duration::zero()),
                               WindowOf(behavior.scale_down, kDownscaleStabilization), now);
  const bool up = wish.desired >= wish.current;
  SetAble(allowed, allowed.replicas != wish.desired, up ? "ScaleUpStabilized" : "ScaleDownStabilized",
          up ? kUpStabilized : kDownStabilized);
  LimitRate(wish, behavior, now, allowed);
  return allowed;
}

// The size it had so many seconds ago, as far as it was changed here.
std::int32_t ScalingHistory::SizeBefore(std::int32_t current, std::int32_t seconds, TimePoint now) const {
  const TimePoint since = now - std::chrono::seconds(seconds);
  for (const Change& change : ups_)
    if (change.at > since) current -= change.by;
  for (const Change& change : downs_)
    if (change.at > since) current += change.by;
  return current;
}

std::int32_t ScalingHistory::UpLimit(std::int32_t current, const HPAScalingRules& rules,
                                     TimePoint now) const {
  const std::string select = rules.select_policy.value_or("Max");
  if (select == "Disabled") return current;
  const bool least = select == "Min";
  std::int32_t limit =
      least ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int32_t>::min();
  for (const HPAScalingPolicy& policy : rules.policies) {
    const std::int32_t start = SizeBefore(current, policy.period_seconds, now);
    // Rounded up: else a small number would never grow.
    const std::int32_t proposed =
        policy.type == "Pods" ? start + policy.value
                              : static_cast<std::int32_t>(std::ceil(start * (1 + policy.value / 100.0)));
    limit = least ? std::min(limit, proposed) : std::max(limit, proposed);
  }
  return std::max(limit, current);
}

std::int32_t ScalingHistory::DownLimit(std::int32_t current, const HPAScalingRules& rules,
                                       TimePoint now) const {
  const std::string select = rules.select_policy.value_or("Max");
  if (select == "Disabled") return current;
  const bool least_change = select == "Min";
  std::int32_t limit =
      least_change ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
  for (const HPAScalingPolicy& policy : rules.policies) {
    const std::int32_t start = SizeBefore(current, policy.period_seconds, now);
    const std::int32_t proposed = policy.type == "Pods"
                                      ? start - policy.value
                                      : static_cast<std::int32_t>(start * (1 - policy.value / 100.0));
    limit = least_change ? std::max(limit, proposed) : std::min(limit, proposed);
  }
  return std::min(limit, current);
}

void ScalingHistory::LimitRate(const ScalingWish& wish, const HorizontalPodAutoscalerBehavior& behavior,
                               TimePoint now, AllowedReplicas& allowed) const {
  const std::int32_t desired = allowed.replicas;
  if (desired > wish.current) {
    const std::int32_t rate = UpLimit(wish.current, RulesOr(behavior.scale_up, true), now);
    if (desired > std::min(rate, wish.most))
      return SetLimited(allowed, std::min(rate, wish.most),
                        wish.most > rate ? "ScaleUpLimit" : "TooManyReplicas",
                        wish.most > rate ? kTooFast : kTooMany);
  } else if (desired < wish.current) {
    const std::int32_t rate = DownLimit(wish.current, RulesOr(behavior.scale_down, false), now);
    if (desired < std::max(rate, wish.least))
      return SetLimited(allowed, std::max(rate, wish.least),
                        wish.least < rate ? "ScaleDownLimit" : "TooFewReplicas",
                        wish.least < rate ? kTooFastDown : kTooFew);
  }
  SetLimited(allowed, desired, "DesiredWithinRange", kInRange);
}

void ScalingHistory::Scaled(std::int32_t before, std::int32_t after, TimePoint now) {
  for (auto* changes : {&ups_, &downs_})
    std::erase_if(*changes, [&](const Change& change) { return change.at < now - kForgotten; });
  if (after > before) ups_.push_back({after - before, now});
  if (after < before) downs_.push_back({before - after, now});
}

}  // namespace flyball::controllers
