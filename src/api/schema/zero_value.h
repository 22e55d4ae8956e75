// Go's zero values: what is left out of JSON, and what is written for a field that was never set.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// True for "", 0, false, empty lists and maps, and null.
bool IsZero(const json::Value& value);

// A field whose Go type is a struct is written even when it is zero (unless it is a pointer); so is one
// without omitempty.
bool WritesZero(const FieldInfo& field);

// True if Go's encoder leaves out this value of this field. Values of null are always "absent" here:
// WritesZero tells whether absence is written as something.
bool IsOmitted(const FieldInfo& field, const json::Value& value);

// What Go writes for a variable of the type that was never set: "", 0, {}, null (lists and maps), "0"
// (quantities).
json::Value ZeroValue(const TypeInfo& type);
// What Go writes for the field when it was never set, if WritesZero: a pointer without omitempty is null.
json::Value AbsentValue(const FieldInfo& field);

}  // namespace flyball::api
