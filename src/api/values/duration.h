// Durations as Go's time package reads and writes them: "1h30m", "1.5s", "300ms".
#pragma once

#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::api {

// BadRequest with Go's text: `time: invalid duration "x"`, `time: missing unit in duration "5"`,
// `time: unknown unit "x" in duration "5x"`.
Result<Duration> ParseDuration(std::string_view text);
// "1h0m0s", "1.5s", "100ms", "0s".
std::string FormatDuration(Duration duration);

}  // namespace flyball::api
