#include "controller/events/event_correlator.h"

#include <algorithm>

namespace flyball {

bool EventCorrelator::TakeToken(const std::string& object, SteadyTime now) {
  if (buckets_.size() > kMaxRemembered) buckets_.clear();
  const auto [it, fresh] = buckets_.try_emplace(object);
  Bucket& bucket = it->second;
  if (fresh) bucket.refilled = now;
  const double refill = std::chrono::duration<double>(now - bucket.refilled) / kRefill;
  bucket.tokens = std::min(kBurst, bucket.tokens + refill);
  bucket.refilled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

std::optional<EventCorrelator::Verdict> EventCorrelator::Consider(const EventIdentity& identity,
                                                                  const std::string& message,
                                                                  SteadyTime now) {
  if (!TakeToken(identity.object, now)) return std::nullopt;
  if (similar_.size() > kMaxRemembered) similar_.clear();
  if (known_.size() > kMaxRemembered) known_.clear();

  const std::string group = identity.object + '\n' + identity.type + '\n' + identity.reason;
  Similar& similar = similar_[group];
  if (now - similar.since > kSimilarWindow) similar = {{}, now};
  similar.messages.insert(message);
  if (similar.messages.size() >= kMaxSimilar) {
    similar.messages.erase(similar.messages.begin());
    return Verdict{"(combined from similar events): " + message, &known_[group]};
  }
  return Verdict{message, &known_[group + '\n' + message]};
}

}  // namespace flyball
