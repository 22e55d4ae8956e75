// Tables of expressions with what the real Kubernetes makes of each: the format of tests/golden/v1.37/cel,
// which `flyball cel --table` checks too. Functions only; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/schema/schema.h"
#include "json/value.h"

namespace flyball::cel {

// What is different from the row: "runtimeCost: want 5, got 4". Empty if nothing is. `schema` is what typed
// rows refer to; null if there is none.
std::vector<std::string> CheckCase(const json::Value& row, const json::Value* schema);

// What kind of mistake a message speaks of: "overload", "no-such-key", "conversion".
std::string_view ClassifyError(std::string_view message, bool parse_error);

}  // namespace flyball::cel
