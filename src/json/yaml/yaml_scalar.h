// Interprets unquoted YAML scalars by the rules of go-yaml v2, which Kubernetes uses. Private to the module.
#pragma once

#include <string_view>

#include "json/value.h"

namespace flyball::json {

enum class ScalarType { kString, kNull, kBool, kInt, kFloat, kTimestamp };

struct ResolvedScalar {
  ScalarType type;
  Value value;  // the text itself for strings and timestamps
};

// YAML 1.1: y, yes and on are true; 0777, 0o777, 0x1ff, 0b1 and 1_000 are integers; ~ and null are null.
// Integers beyond signed 64 bits and floats (including .inf) are doubles.
ResolvedScalar ResolveScalar(std::string_view text);

// 12:30:45, which other YAML 1.1 parsers read as a base-60 number.
bool IsBase60(std::string_view text);

}  // namespace flyball::json
