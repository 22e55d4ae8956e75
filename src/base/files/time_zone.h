// TimeZone: when a place is how far from UTC, from the system's zone files (/usr/share/zoneinfo). Immutable;
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flyball {

class TimeZone {
 public:
  // The zone of that name ("Europe/Berlin"); null if there is none. Files are read once.
  static std::shared_ptr<const TimeZone> Find(std::string_view name);
  // Of a zone file's bytes (RFC 8536); null if they are no such file.
  static std::shared_ptr<const TimeZone> Parse(std::string_view bytes);

  // Seconds east of UTC at a time given in seconds since 1970.
  std::int32_t OffsetAt(std::int64_t seconds) const;

 private:
  struct Transition {
    std::int64_t at;
    std::int32_t offset;
  };
  // A day of the year in the footer's rules: the week-th weekday of a month.
  struct Change {
    int month = 0, week = 0, weekday = 0;
    std::int64_t time = 7200;  // seconds after midnight, local time
  };
  bool ParseFooter(std::string_view rule);
  std::int32_t OffsetByRule(std::int64_t seconds) const;

  std::vector<Transition> transitions_;
  std::int32_t first_offset_ = 0;
  bool has_rule_ = false;
  std::int32_t standard_ = 0, daylight_ = 0;
  bool has_daylight_ = false;
  Change to_daylight_, to_standard_;
};

}  // namespace flyball
