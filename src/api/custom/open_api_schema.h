// The rules of the JSON Schema subset that custom resources may use (upstream:
// ValidateCustomResourceDefinitionOpenAPISchema). Internal to ValidateSchema; thread-safe.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// `schema` is the root. Appends what is wrong with the keywords of every node in it.
void ValidateOpenApiSchema(const json::Value& schema, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
