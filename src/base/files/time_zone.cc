#include "base/files/time_zone.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

namespace flyball {
namespace {

constexpr std::size_t kZoneHeaderBytes = 44;
// Zone files have a few kilobytes; nothing larger is one.
constexpr std::size_t kMaxZoneBytes = 1 << 20;
// There are some 600 names; anything beyond is not cached.
constexpr std::size_t kMaxCachedZones = 1024;

std::int64_t ReadZoneInteger(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t n = static_cast<signed char>(bytes[at]) < 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < width; ++i) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(n);
}

struct ZoneCounts {
  std::size_t utc, standard, leap, times, types, characters;

  static ZoneCounts Read(std::string_view bytes, std::size_t header) {
    const auto count = [&](std::size_t i) {
      return static_cast<std::size_t>(
          static_cast<std::uint32_t>(ReadZoneInteger(bytes, header + 20 + 4 * i, 4)));
    };
    return {count(0), count(1), count(2), count(3), count(4), count(5)};
  }
  std::size_t Size(std::size_t width) const {
    return times * width + times + types * 6 + characters + leap * (width + 4) + standard + utc;
  }
};

bool HasZoneHeader(std::string_view bytes, std::size_t at) {
  return bytes.size() >= at + kZoneHeaderBytes && bytes.substr(at, 4) == "TZif";
}

std::int64_t ZoneDays(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t yoe = year - era * 400;
  const std::int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

std::int64_t YearOf(std::int64_t seconds) {
  std::int64_t year = 1970 + seconds / 31556952;
  while (ZoneDays(year, 1, 1) * 86400 > seconds) --year;
  while (ZoneDays(year + 1, 1, 1) * 86400 <= seconds) ++year;
  return year;
}

// The pieces of a POSIX TZ string.
class ZoneRuleText {
 public:
  explicit ZoneRuleText(std::string_view text) : rest_(text) {}
  bool empty() const { return rest_.empty(); }
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool SkipName() {
    if (Take('<')) {
      const std::size_t end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::size_t length = 0;
    while (length < rest_.size() && ((rest_[length] | 32) >= 'a' && (rest_[length] | 32) <= 'z')) ++length;
    rest_.remove_prefix(length);
    return length > 0;
  }
  std::optional<int> Number() {
    int n = 0;
    const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (result.ec != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(result.ptr - rest_.data()));
    return n;
  }
  // [+-]hh[:mm[:ss]] in seconds.
  std::optional<std::int32_t> Time() {
    const bool negative = Take('-');
    if (!negative) Take('+');
    std::int32_t seconds = 0;
    for (int unit : {3600, 60, 1}) {
      const auto n = Number();
      if (!n) return std::nullopt;
      seconds += *n * unit;
      if (!Take(':')) break;
    }
    return negative ? -seconds : seconds;
  }

 private:
  std::string_view rest_;
};

std::shared_ptr<const TimeZone> ReadZoneFile(const std::string& name) {
  if (name.empty() || name[0] == '/' || name[0] == '.' || name.find("..") != std::string::npos ||
      name.find('\\') != std::string::npos || name.find('\0') != std::string::npos || name.size() > 255)
    return nullptr;
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  if (!file) return nullptr;
  std::string bytes(kMaxZoneBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return TimeZone::Parse(bytes);
}

}  // namespace

std::shared_ptr<const TimeZone> TimeZone::Find(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>> zones;
  const std::lock_guard lock(mutex);
  if (const auto it = zones.find(name); it != zones.end()) return it->second;
  auto zone = ReadZoneFile(std::string(name));
  // Names that do not exist are the caller's to make up: they are not kept.
  if (zone && zones.size() < kMaxCachedZones) zones.emplace(name, zone);
  return zone;
}

std::shared_ptr<const TimeZone> TimeZone::Parse(std::string_view bytes) {
  if (!HasZoneHeader(bytes, 0)) return nullptr;
  std::size_t header = 0, width = 4;
  if (bytes[4] >= '2') {
    header = kZoneHeaderBytes + ZoneCounts::Read(bytes, 0).Size(4);
    width = 8;
    if (!HasZoneHeader(bytes, header)) return nullptr;
  }
  const ZoneCounts counts = ZoneCounts::Read(bytes, header);
  const std::size_t times = header + kZoneHeaderBytes;
  if (bytes.size() < times + counts.Size(width) || counts.types == 0) return nullptr;
  const std::size_t indices = times + counts.times * width, types = indices + counts.times;
  const auto offset = [&](std::size_t type) {
    return static_cast<std::int32_t>(ReadZoneInteger(bytes, types + 6 * type, 4));
  };
  auto zone = std::make_shared<TimeZone>();
  zone->first_offset_ = offset(0);
  for (std::size_t i = 0; i < counts.times; ++i) {
    const auto type = static_cast<unsigned char>(bytes[indices + i]);
    if (type >= counts.types) return nullptr;
    zone->transitions_.push_back({ReadZoneInteger(bytes, times + i * width, width), offset(type)});
  }
  const std::size_t end = times + counts.Size(width);
  if (width == 8 && end < bytes.size() && bytes[end] == '\n') {
    const std::string_view footer = bytes.substr(end + 1);
    zone->has_rule_ = zone->ParseFooter(footer.substr(0, footer.find('\n')));
  }
  return zone;
}

bool TimeZone::ParseFooter(std::string_view rule) {
  ZoneRuleText text(rule);
  if (rule.empty() || !text.SkipName()) return false;
  const auto standard = text.Time();
  if (!standard) return false;
  standard_ = -*standard;
  if (text.empty()) return true;
  if (!text.SkipName()) return false;
  daylight_ = standard_ + 3600;
  if (!text.Take(',')) {
    const auto daylight = text.Time();
    if (!daylight || !text.Take(',')) return false;
    daylight_ = -*daylight;
  }
  const auto change = [&](Change& c) {
    // Only the form in use: M<month>.<week>.<weekday>[/time].
    if (!text.Take('M')) return false;
    const auto month = text.Number();
    const auto week = text.Take('.') ? text.Number() : std::nullopt;
    const auto weekday = text.Take('.') ? text.Number() : std::nullopt;
    if (!month || !week || !weekday || *month < 1 || *month > 12) return false;
    c.month = *month;
    c.week = *week;
    c.weekday = *weekday;
    if (!text.Take('/')) return true;
    const auto time = text.Time();
    if (time) c.time = *time;
    return time.has_value();
  };
  has_daylight_ = change(to_daylight_) && text.Take(',') && change(to_standard_);
  return has_daylight_;
}

std::int32_t TimeZone::OffsetByRule(std::int64_t seconds) const {
  if (!has_daylight_) return standard_;
  const std::int64_t year = YearOf(seconds + standard_);
  const auto instant = [&](const Change& c, std::int32_t offset) {
    const std::int64_t first = ZoneDays(year, c.month, 1);
    const auto first_weekday = static_cast<int>(((first % 7) + 11) % 7);
    std::int64_t day = first + (c.weekday - first_weekday + 7) % 7 + (c.week - 1) * 7;
    const std::int64_t next = c.month == 12 ? ZoneDays(year + 1, 1, 1) : ZoneDays(year, c.month + 1, 1);
    while (day >= next) day -= 7;
    return day * 86400 + c.time - offset;
  };
  const std::int64_t start = instant(to_daylight_, standard_), end = instant(to_standard_, daylight_);
  const bool daylight = start < end ? seconds >= start && seconds < end : seconds >= start || seconds < end;
  return daylight ? daylight_ : standard_;
}

std::int32_t TimeZone::OffsetAt(std::int64_t seconds) const {
  if (transitions_.empty() || (has_rule_ && seconds >= transitions_.back().at))
    return has_rule_ ? OffsetByRule(seconds) : first_offset_;
  const auto it = std::upper_bound(transitions_.begin(), transitions_.end(), seconds,
                                   [](std::int64_t at, const Transition& t) { return at < t.at; });
  return it == transitions_.begin() ? first_offset_ : std::prev(it)->offset;
}

}  // namespace flyball
