// Numbers as Go's strconv and fmt write them. Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flyball::cel {

// strconv.FormatFloat(d, 'g', -1, 64): "1.5", "1e+08", "+Inf", "NaN".
std::string FormatShortDouble(double d);
// strconv.FormatFloat(d, 'f', -1, 64): never an exponent.
std::string FormatPlainDouble(double d);
// fmt's %.<precision>f.
std::string FormatFixedDouble(double d, int precision);
// strconv.ParseFloat, ParseInt and ParseUint in base 10, ParseBool.
std::optional<double> ParseGoDouble(std::string_view text);
std::optional<std::int64_t> ParseGoInt(std::string_view text, int base = 10);
std::optional<std::uint64_t> ParseGoUint(std::string_view text, int base = 10);
std::optional<bool> ParseGoBool(std::string_view text);
// strconv.Quote and its form for fmt's %q.
std::string QuoteGo(std::string_view text);

}  // namespace flyball::cel
