// Where the log goes, for a program that has something else on the same terminal.
#pragma once

#include <functional>
#include <string_view>

namespace flyball::log {

// From now on each line, with its line feed, goes to `output` and not to standard error; null: back to it.
// One line at a time, from any thread; `output` must not log. When this returns, no call of the former one
// runs any more. Thread-safe.
void SetOutput(std::function<void(std::string_view line)> output);

}  // namespace flyball::log
