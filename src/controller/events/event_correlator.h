// EventCorrelator: decides how to record an event: as a new one, as a repetition of a known one, as one of
// many similar ones, or not at all because there are too many (upstream: client-go tools/record
// EventCorrelator).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/run/clock.h"

namespace flyball {

// What identifies an event, apart from its message.
struct EventIdentity {
  std::string object;  // everything that identifies the object
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
  // Above this many remembered objects and events the memory is cleared. Counts then start at one again.
  static constexpr std::size_t kMaxRemembered = 4096;

  struct Known {
    std::string name;  // of the Event
    int count = 0;
    std::string first_timestamp;
  };
  struct Verdict {
    std::string message;  // possibly prefixed as a combined event
    Known* known;         // count is 0 if it is new; valid until the next call
  };

  // Returns nothing if the object has had too many events.
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
