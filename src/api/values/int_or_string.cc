#include "api/values/int_or_string.h"

#include <charconv>

#include "api/values/go_text.h"

namespace flyball::api {

bool ParsePercent(std::string_view text, std::int64_t& percent) {
  if (text.size() < 2 || text.back() != '%' || text[0] < '0' || text[0] > '9') return false;
  text.remove_suffix(1);
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), percent);
  return ec == std::errc{} && end == text.data() + text.size();
}

IntOrString IntOrString::From(const json::Value& value) {
  if (value.is_string()) return IntOrString(std::string(value.as_string()));
  return IntOrString(static_cast<std::int32_t>(value.int_or(0)));
}

json::Value IntOrString::ToJson() const {
  return is_string_ ? json::Value(text_) : json::Value(number_);
}

Result<std::int64_t> IntOrString::Scaled(std::int64_t total, bool round_up) const {
  if (!is_string_) return std::int64_t{number_};
  std::int64_t percent = 0;
  if (!ParsePercent(text_, percent)) {
    return Unexpected(BadRequest("invalid value for IntOrString: invalid type: string is not a percentage"));
  }
  const __int128 hundredths = static_cast<__int128>(percent) * total;
  return static_cast<std::int64_t>((hundredths + (round_up ? 99 : 0)) / 100);
}

}  // namespace flyball::api
