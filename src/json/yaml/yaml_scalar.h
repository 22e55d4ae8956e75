// What an unquoted YAML scalar means: the rules of go-yaml v2, which Kubernetes uses. Private to the module.
#pragma once

#include <string_view>

#include "json/value.h"

namespace flyball::json {

enum class ScalarType { kString, kNull, kBool, kInt, kFloat, kTimestamp };

struct ResolvedScalar {
  ScalarType type;
  Value value;  // the text itself for strings and timestamps
};

// YAML 1.1: y, yes and on are true; 0777, 0o777, 0x1ff and 0b1 are integers, as is 1_000; ~ and null are
// null. Integers beyond 64 signed bits and floats (.inf too) are doubles.
ResolvedScalar ResolveScalar(std::string_view text);

// 12:30:45, which other YAML 1.1 parsers take for a number in base 60.
bool IsBase60(std::string_view text);

}  // namespace flyball::json
