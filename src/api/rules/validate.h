// The schema's rules, checked: required, enumerations, ranges, lengths, patterns, formats, one-of,
// immutability, with the messages Kubernetes gives. What no rule can say is the kind's (kind_hooks.h).
#pragma once

#include "api/rules/field_error.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Every rule of the type and of what is inside it, except immutability. `path` is where `value` is.
// Thread-safe.
void Validate(const TypeInfo& type, const json::Value& value, const FieldPath& path, FieldErrors& errors);

// The immutable fields: those that were set may not change. Thread-safe.
void ValidateImmutable(const TypeInfo& type, const json::Value& value, const json::Value& old,
                       const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
