// Values as tools show them: JSON that keeps CEL's types apart ({"int":"5"}, {"map":[[key,value]]}).
// Functions only; thread-safe.
#pragma once

#include "cel/values/value.h"
#include "json/value.h"

namespace flyball::cel {

// Requires a value that is no error. Entries of maps are sorted by the JSON of their keys.
json::Value TaggedValue(Arena& arena, const Value& value);

}  // namespace flyball::cel
