#include "base/files/time_zone.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>

namespace flyball {
namespace {

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kDay = 86400;
// Zone files have a few kilobytes; nothing larger is one.
constexpr std::streamsize kMaxZoneFile = 1 << 20;
constexpr std::size_t kMaxZoneName = 255;
// There are some 600 names; anything beyond is not kept.
constexpr std::size_t kMaxKeptZones = 1024;

Error NotAZoneFile() {
  return BadRequest("malformed time zone information");
}

// Reads big-endian numbers from a byte string. Reading beyond the end returns zero and sets a flag.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t Read(std::size_t size) {
    if (bytes_.size() < size) return failed_ = true, 0;
    std::uint64_t value = size == 8 || static_cast<signed char>(bytes_[0]) >= 0 ? 0 : ~std::uint64_t{0};
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(size);
    return static_cast<std::int64_t>(value);
  }
  std::string_view Take(std::size_t size) {
    if (bytes_.size() < size) return failed_ = true, std::string_view();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view rest() const { return bytes_; }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

// The counts in a header, in file order.
struct Counts {
  std::size_t ut = 0, standard = 0, leap = 0, times = 0, types = 0, chars = 0;
  std::size_t BodySize(std::size_t time_size) const {
    return times * time_size + times + types * 6 + chars + leap * (time_size + 4) + standard + ut;
  }
};

std::optional<Counts> ReadHeader(ByteReader& in, char& version) {
  if (in.Take(4) != "TZif") return std::nullopt;
  const std::string_view kind = in.Take(16);
  if (in.failed()) return std::nullopt;
  version = kind[0];
  Counts counts;
  for (std::size_t* count :
       {&counts.ut, &counts.standard, &counts.leap, &counts.times, &counts.types, &counts.chars})
    *count = static_cast<std::size_t>(in.Read(4)) & 0xffffffff;
  if (in.failed() || counts.types == 0) return std::nullopt;
  return counts;
}

std::int64_t DaysTo(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return date.time_since_epoch().count();
}

// Whether a file of the database may be called so: a path that does not leave its folder.
bool IsZoneName(std::string_view name) {
  return name.size() <= kMaxZoneName && name[0] != '/' && name[0] != '.' &&
         name.find("..") == std::string_view::npos && name.find('\\') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

int YearOf(std::int64_t time) {
  const auto day =
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(time)));
  return static_cast<int>(std::chrono::year_month_day(day).year());
}

}  // namespace

// Parses "CET-1CEST,M3.5.0,M10.5.0/3".
class TzStringReader {
 public:
  explicit TzStringReader(std::string_view text) : text_(text) {}

  std::optional<TimeZone::Footer> Read() {
    TimeZone::Footer footer;
    SkipName();
    footer.standard = -Time();
    if (text_.empty()) return Finished(footer);
    footer.has_daylight = true;
    SkipName();
    footer.daylight = footer.standard + 3600;
    if (!text_.empty() && text_[0] != ',') footer.daylight = -Time();
    // Without dates the rule is undefined. American dates are usual, and no file omits them.
    if (!Skip(',')) return std::nullopt;
    footer.start = Rule();
    if (!Skip(',')) return std::nullopt;
    footer.end = Rule();
    return Finished(footer);
  }

 private:
  std::optional<TimeZone::Footer> Finished(const TimeZone::Footer& footer) const {
    return bad_ || !text_.empty() ? std::nullopt : std::optional(footer);
  }
  bool Skip(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void SkipName() {
    std::size_t end = 0;
    if (!text_.empty() && text_[0] == '<') {
      end = std::min(text_.find('>'), text_.size() - 1) + 1;
    } else {
      while (end < text_.size() && ((text_[end] | 32) >= 'a' && (text_[end] | 32) <= 'z')) ++end;
    }
    if (end == 0) bad_ = true;
    text_.remove_prefix(end);
  }
  int Number() {
    int value = 0;
    bool any = false;
    while (!text_.empty() && text_[0] >= '0' && text_[0] <= '9' && value < 100000) {
      value = value * 10 + (text_[0] - '0');
      text_.remove_prefix(1);
      any = true;
    }
    if (!any) bad_ = true;
    return value;
  }
  // "-3:30" in seconds.
  std::int64_t Time() {
    const bool negative = Skip('-');
    if (!negative) Skip('+');
    std::int64_t seconds = Number() * 3600;
    if (Skip(':')) seconds += Number() * 60;
    if (Skip(':')) seconds += Number();
    return negative ? -seconds : seconds;
  }
  TimeZone::YearlyRule Rule() {
    TimeZone::YearlyRule rule;
    if (Skip('M')) {
      rule.month = std::clamp(Number(), 1, 12);
      if (!Skip('.')) bad_ = true;
      rule.week = std::clamp(Number(), 1, 5);
      if (!Skip('.')) bad_ = true;
      rule.day = std::clamp(Number(), 0, 6);
    } else {
      using Kind = TimeZone::YearlyRule::Kind;
      rule.kind = Skip('J') ? Kind::kJulian : Kind::kDayOfYear;
      rule.day = Number();
    }
    if (Skip('/')) rule.second = Time();
    return rule;
  }

  std::string_view text_;
  bool bad_ = false;
};

// Since the start of the year, in local time before the change.
std::int64_t TimeZone::YearlyRule::SecondsInto(int year) const {
  const std::int64_t new_year = DaysTo(year, 1, 1);
  if (kind == Kind::kDayOfYear) return day * kDay + second;
  if (kind == Kind::kJulian) {
    // 29 February is never counted.
    const bool shifted = std::chrono::year(year).is_leap() && day >= 60;
    return (day - 1 + (shifted ? 1 : 0)) * kDay + second;
  }
  const std::int64_t first = DaysTo(year, static_cast<unsigned>(month), 1);
  const std::int64_t next_month =
      month == 12 ? DaysTo(year + 1, 1, 1) : DaysTo(year, static_cast<unsigned>(month) + 1, 1);
  // 1 January 1970 was a Thursday.
  const std::int64_t weekday = ((first + 4) % 7 + 7) % 7;
  std::int64_t at = first + (day - weekday + 7) % 7 + (week - 1) * 7;
  if (at >= next_month) at -= 7;
  return (at - new_year) * kDay + second;
}

Result<TimeZone> TimeZone::Load(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "Etc/UTC") return TimeZone();
  const Error unknown(Reason::kNotFound, "unknown time zone " + std::string(name));
  if (!IsZoneName(name)) return Unexpected(unknown);
  const char* folder = std::getenv("ZONEINFO");
  const std::string path = std::string(folder && *folder ? folder : "/usr/share/zoneinfo") + "/";
  std::ifstream file(path + std::string(name), std::ios::binary);
  if (!file) return Unexpected(unknown);
  std::string bytes(kMaxZoneFile, '\0');
  file.read(bytes.data(), kMaxZoneFile);
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  auto zone = Parse(bytes);
  if (!zone) return Unexpected(unknown);
  return zone;
}

std::shared_ptr<const TimeZone> TimeZone::Find(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>> zones;
  const std::lock_guard lock(mutex);
  if (const auto it = zones.find(name); it != zones.end()) return it->second;
  auto loaded = Load(name);
  // Names that do not exist are the caller's to make up: they are not kept.
  if (!loaded) return nullptr;
  auto zone = std::make_shared<const TimeZone>(std::move(*loaded));
  if (zones.size() < kMaxKeptZones) zones.emplace(name, zone);
  return zone;
}

Result<TimeZone> TimeZone::Parse(std::string_view bytes) {
  ByteReader in(bytes);
  char version = 0;
  auto counts = ReadHeader(in, version);
  if (!counts) return Unexpected(NotAZoneFile());
  std::size_t time_size = 4;
  if (version >= '2') {
    // The same again with 64-bit times; the first part is for old readers.
    in.Take(counts->BodySize(4));
    counts = ReadHeader(in, version);
    if (!counts) return Unexpected(NotAZoneFile());
    time_size = 8;
  }
  TimeZone zone;
  zone.transitions_.resize(std::min(counts->times, bytes.size()));
  for (Transition& transition : zone.transitions_) transition.at = in.Read(time_size);
  const std::string_view types = in.Take(counts->times);
  std::vector<std::int64_t> offsets(std::min(counts->types, bytes.size()));
  for (std::int64_t& offset : offsets) {
    offset = in.Read(4);
    in.Take(2);
  }
  if (in.failed()) return Unexpected(NotAZoneFile());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = static_cast<unsigned char>(types[i]);
    if (type >= offsets.size()) return Unexpected(NotAZoneFile());
    zone.transitions_[i].offset = offsets[type];
  }
  zone.first_offset_ = offsets[0];
  in.Take(counts->chars + counts->leap * (time_size + 4) + counts->standard + counts->ut);
  if (in.failed()) return Unexpected(NotAZoneFile());
  std::string_view footer = in.rest();
  if (footer.size() > 2 && footer.front() == '\n') {
    footer = footer.substr(1, footer.find('\n', 1) - 1);
    zone.footer_ = TzStringReader(footer).Read();
  }
  return zone;
}

TimeZone::Period TimeZone::At(std::int64_t time) const {
  const auto next = std::upper_bound(transitions_.begin(), transitions_.end(), time,
                                     [](std::int64_t t, const Transition& tr) { return t < tr.at; });
  if (next == transitions_.end() && footer_) return ByFooter(time);
  const std::int64_t end = next == transitions_.end() ? kAlways : next->at;
  if (next == transitions_.begin()) return {kNever, end, first_offset_};
  return {std::prev(next)->at, end, std::prev(next)->offset};
}

TimeZone::Period TimeZone::ByFooter(std::int64_t time) const {
  const std::int64_t since = transitions_.empty() ? kNever : transitions_.back().at;
  if (!footer_->has_daylight) return {since, kAlways, footer_->standard};
  // The changes of the adjacent years are enough to find the two around `time`.
  std::vector<Transition> changes;
  const int year = YearOf(time);
  for (int y = year - 1; y <= year + 1; ++y) {
    const std::int64_t new_year = DaysTo(y, 1, 1) * kDay;
    changes.push_back({new_year + footer_->start.SecondsInto(y) - footer_->standard, footer_->daylight});
    changes.push_back({new_year + footer_->end.SecondsInto(y) - footer_->daylight, footer_->standard});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Transition& a, const Transition& b) { return a.at < b.at; });
  const auto next = std::upper_bound(changes.begin(), changes.end(), time,
                                     [](std::int64_t t, const Transition& tr) { return t < tr.at; });
  const Transition& current = *std::prev(next);
  return {std::max(since, current.at), next->at, current.offset};
}

}  // namespace flyball
