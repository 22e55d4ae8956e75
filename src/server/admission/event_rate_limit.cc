#include "server/admission/event_rate_limit.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/run/mutex.h"
#include "server/admission/basis/requests.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

// If the configuration does not say how many keys a limit remembers.
constexpr std::size_t kDefaultKeys = 4096;

struct EventLimit {
  std::string type;  // Server, Namespace, User or SourceAndObject
  double qps = 0;
  double burst = 0;
  std::size_t keys = kDefaultKeys;
};

std::string SourceAndObjectKey(const json::Value& event) {
  std::string key;
  for (const auto* field : {"component", "host"}) key += event["source"][field].string_or("");
  for (const auto* field : {"kind", "namespace", "name", "uid", "apiVersion"})
    key += event["involvedObject"][field].string_or("");
  return key;
}

std::string KeyOf(const EventLimit& limit, const AdmissionRequest& request) {
  if (limit.type == "Namespace") return std::string(request.namespace_name);
  if (limit.type == "User") return request.scope.user.name;
  if (limit.type == "SourceAndObject") return SourceAndObjectKey(*request.object);
  return {};
}

// One token bucket for each key; the least recently used give way. Thread-safe.
class KeyedBuckets {
 public:
  KeyedBuckets(EventLimit limit, const Clock& clock) : limit_(std::move(limit)), clock_(clock) {}

  const EventLimit& limit() const { return limit_; }

  bool TryAccept(const std::string& key) {
    MutexLock lock(mu_);
    Bucket& bucket = Touch(key);
    const SteadyTime now = clock_.Steady();
    const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
    bucket.tokens = std::min(limit_.burst, bucket.tokens + seconds * limit_.qps);
    bucket.filled = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

 private:
  struct Bucket {
    std::string key;
    double tokens;
    SteadyTime filled;
  };

  Bucket& Touch(const std::string& key) FLYBALL_REQUIRES(mu_) {
    if (const auto found = index_.find(key); found != index_.end()) {
      buckets_.splice(buckets_.begin(), buckets_, found->second);
      return buckets_.front();
    }
    if (buckets_.size() >= limit_.keys) {
      index_.erase(buckets_.back().key);
      buckets_.pop_back();
    }
    buckets_.push_front({key, limit_.burst, clock_.Steady()});
    index_[key] = buckets_.begin();
    return buckets_.front();
  }

  const EventLimit limit_;
  const Clock& clock_;
  Mutex mu_;
  std::list<Bucket> buckets_ FLYBALL_GUARDED_BY(mu_);  // the most recently used first
  std::unordered_map<std::string, std::list<Bucket>::iterator> index_ FLYBALL_GUARDED_BY(mu_);
};

class EventRateLimit final : public AdmissionPlugin {
 public:
  EventRateLimit(const std::vector<EventLimit>& limits, const Clock& clock) {
    for (const auto& limit : limits) buckets_.push_back(std::make_unique<KeyedBuckets>(limit, clock));
  }
  std::string_view name() const override { return "EventRateLimit"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!Writes(request) || !IsAbout(request, "", "events") || request.scope.dry_run) co_return Status();
    std::vector<std::string> reached;
    for (const auto& bucket : buckets_) {
      const std::string key = KeyOf(bucket->limit(), request);
      if (!bucket->TryAccept(key))
        reached.push_back("limit reached on type " + bucket->limit().type + " for key " + key);
    }
    if (reached.empty()) co_return Status();
    co_return Unexpected(
        Error(Reason::kTooManyRequests, 429, "Too many requests: " + AggregateText(reached)));
  }

 private:
  std::vector<std::unique_ptr<KeyedBuckets>> buckets_;
};

EventLimit ReadLimit(const json::Value& value, const api::FieldPath& path, api::FieldErrors& errors) {
  EventLimit limit;
  limit.type = value["type"].string_or("");
  const bool known = limit.type == "Server" || limit.type == "Namespace" || limit.type == "User" ||
                     limit.type == "SourceAndObject";
  if (!known)
    errors.NotSupported(path.Child("type"), limit.type, {"Namespace", "Server", "SourceAndObject", "User"});
  const auto burst = value["burst"].int_or(0), qps = value["qps"].int_or(0),
             keys = value["cacheSize"].int_or(0);
  if (burst <= 0) errors.Invalid(path.Child("burst"), burst, "must be positive");
  if (qps <= 0) errors.Invalid(path.Child("qps"), qps, "must be positive");
  if (limit.type != "Server" && keys < 0)
    errors.Invalid(path.Child("cacheSize"), keys, "must not be negative");
  limit.burst = static_cast<double>(burst);
  limit.qps = static_cast<double>(qps);
  if (keys > 0) limit.keys = static_cast<std::size_t>(keys);
  return limit;
}

Result<std::vector<EventLimit>> ReadLimits(const std::string& text) {
  FLYBALL_ASSIGN(const json::Value file,
                 ParseStrictObject(text, {"eventratelimit.admission.k8s.io/v1alpha1"}, "Configuration"));
  api::FieldErrors errors;
  const api::FieldPath path("limits");
  std::vector<EventLimit> limits;
  if (const auto& list = file["limits"]; list.is_array())
    for (std::size_t i = 0; i < list.as_array().size(); ++i)
      limits.push_back(ReadLimit(list.as_array()[i], path.Index(i), errors));
  if (limits.empty()) errors.Invalid(path, json::Array{}, "must not be empty");
  if (!errors.empty()) return Unexpected(BadRequest(AggregateText(errors)));
  return limits;
}

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewEventRateLimit(const Clock& clock,
                                                           const std::optional<std::string>& configuration) {
  std::vector<EventLimit> limits;
  if (configuration) {
    FLYBALL_ASSIGN(limits, ReadLimits(*configuration));
  }
  return std::unique_ptr<AdmissionPlugin>(std::make_unique<EventRateLimit>(limits, clock));
}

}  // namespace flyball::server
