// IntOrString: a count or a percentage ("25%"), or a port number or name (upstream: apimachinery
// util/intstr). A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

class IntOrString {
 public:
  IntOrString() = default;                     // the number 0
  IntOrString(std::int32_t n) : number_(n) {}  // NOLINT(google-explicit-constructor)
  IntOrString(std::string s)
      : is_string_(true), text_(std::move(s)) {}  // NOLINT(google-explicit-constructor)

  // A string or integer of JSON; everything else is the number 0.
  static IntOrString From(const json::Value& value);
  json::Value ToJson() const;

  bool is_string() const { return is_string_; }
  std::int32_t number() const { return number_; }
  const std::string& text() const { return text_; }

  // The number, or the percentage of `total` rounded up or down. Errors with upstream's text if it is a
  // string that is no percentage.
  Result<std::int64_t> Scaled(std::int64_t total, bool round_up) const;

  bool operator==(const IntOrString&) const = default;

 private:
  bool is_string_ = false;
  std::int32_t number_ = 0;
  std::string text_;
};

// 25 for "25%"; false if text is not digits followed by one '%'.
bool ParsePercent(std::string_view text, std::int64_t& percent);

}  // namespace flyball::api
