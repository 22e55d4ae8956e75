// What the types of a custom object demand beyond JSON Schema: embedded resources that are resources, sets
// and maps without duplicates. Internal to ValidateCustomObject.
#pragma once

#include "api/custom/custom_schema.h"
#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Appends what is wrong. `old`: the object before the update, or null. Lists of an object that had wrong ones
// already are not looked at; embedded resources always are.
void ValidateCustomStructure(const CustomSchema& schema, const json::Value& object, const json::Value* old,
                             FieldErrors& errors);

}  // namespace flyball::api
