// Decides how long a failed key waits before it is retried.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/run/clock.h"
#include "base/run/mutex.h"

namespace flyball {

// Upstream's default limiter: the longer of 5 ms·2ⁿ per key (n failures so far, at most 1000 s) and a token
// bucket for all keys together (10 per second, burst of 100).
struct RateLimits {
  Duration base = std::chrono::milliseconds(5);
  Duration max = std::chrono::seconds(1000);
  double qps = 10;  // 0: no bucket
  int burst = 100;
};

// Thread-safe.
template <typename Key, typename Hash = std::hash<Key>>
class RateLimiter {
 public:
  explicit RateLimiter(const Clock& clock, RateLimits limits = {})
      : clock_(clock), limits_(limits), tokens_(limits.burst), refilled_(clock.Steady()) {}

  // Counts one more failure and returns the time to wait.
  Duration When(const Key& key) {
    MutexLock lock(mu_);
    const int failures = failures_[key]++;
    const double grown = std::ldexp(static_cast<double>(limits_.base.count()), std::min(failures, 62));
    const double capped = std::min(grown, static_cast<double>(limits_.max.count()));
    return std::max(Duration(static_cast<Duration::rep>(capped)), Reserve());
  }
  void Forget(const Key& key) {
    MutexLock lock(mu_);
    failures_.erase(key);
  }
  int Failures(const Key& key) const {
    MutexLock lock(mu_);
    const auto it = failures_.find(key);
    return it == failures_.end() ? 0 : it->second;
  }

 private:
  // Takes a token, in advance if there is none, and returns the time until it exists.
  Duration Reserve() FLYBALL_REQUIRES(mu_) {
    if (limits_.qps <= 0) return {};
    const SteadyTime now = clock_.Steady();
    const double elapsed = std::chrono::duration<double>(now - refilled_).count();
    tokens_ = std::min<double>(limits_.burst, tokens_ + elapsed * limits_.qps) - 1;
    refilled_ = now;
    if (tokens_ >= 0) return {};
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / limits_.qps));
  }

  const Clock& clock_;
  const RateLimits limits_;
  mutable Mutex mu_;
  std::unordered_map<Key, int, Hash> failures_ FLYBALL_GUARDED_BY(mu_);
  double tokens_ FLYBALL_GUARDED_BY(mu_);
  SteadyTime refilled_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
