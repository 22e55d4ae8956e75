// The schema's own defaults. What depends on other fields is the kind's (kind_hooks.h).
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Gives every field that has a default and is not set its default, in every object that is there. A field
// that is no pointer counts as not set when it is zero. Thread-safe.
void ApplyDefaults(const TypeInfo& type, json::Value& value);

}  // namespace flyball::api
