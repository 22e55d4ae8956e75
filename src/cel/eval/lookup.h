// Looking up an entry, an element or a field of a value at run time. Internal to the interpreter.
#pragma once

#include "cel/values/value.h"

namespace flyball::cel {

// The entry of a map, the element of a list or the field of an object. If there is none, *present becomes
// false and the result is an error, unless it `may_be_absent`.
Value Lookup(Arena& arena, const Value& value, const Value& key, bool may_be_absent, bool* present);

// The error of a key that is not there.
Value MissingKey(Arena& arena, const Value& key);

}  // namespace flyball::cel
