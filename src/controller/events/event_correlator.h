// EventCorrelator: decides what becomes of an event: a new one, one more of a known one, one of many similar
// ones, or too many (upstream: client-go tools/record EventCorrelator).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/run/clock.h"

namespace flyball {

// What makes two events the same, apart from their message.
struct EventIdentity {
  std::string object;  // everything that says which object
  std::string type, reason;
};

// Thread-compatible.
class EventCorrelator {
 public:
  // Upstream's numbers.
  static constexpr std::size_t kMaxSimilar = 10;
  static constexpr Duration kSimilarWindow = std::chrono::seconds(600);
  static constexpr double kBurst = 25;
  static constexpr Duration kRefill = std::chrono::seconds(300);
  // More remembered objects and events than this: the memory is begun anew. Counts then start at one again.
  static constexpr std::size_t kMaxRemembered = 4096;

  struct Known {
    std::string name;  // of the Event
    int count = 0;
    std::string first_timestamp;
  };
  struct Verdict {
    std::string message;  // possibly with the mark of combined events
    Known* known;         // count is 0 if it is new; valid until the next call
  };

  // Nothing if the object has had too many events.
  std::optional<Verdict> Consider(const EventIdentity& identity, const std::string& message, SteadyTime now);

 private:
  struct Similar {
    std::set<std::string> messages;
    SteadyTime since{};
  };
  struct Bucket {
    double tokens = kBurst;
    SteadyTime refilled{};
  };
  bool TakeToken(const std::string& object, SteadyTime now);

  std::unordered_map<std::string, Similar> similar_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace flyball
