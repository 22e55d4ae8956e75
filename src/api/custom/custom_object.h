// What the server does to an object of a custom kind: prune, default, validate, by its CustomSchema. The
// built-in metadata inside it is Decode's (decode.h), which runs first. Functions only; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "api/custom/custom_schema.h"
#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Removes what the schema does not name, except below x-kubernetes-preserve-unknown-fields. Each removed
// field is reported as `unknown field "spec.x[0].y"` if `unknown` is given (at most 100, upstream's limit).
// True if anything was removed.
bool PruneCustomObject(const CustomSchema& schema, json::Value& object,
                       std::vector<std::string>* unknown = nullptr);
// The same by the type of a custom kind.
bool PruneCustomObject(const TypeInfo& type, json::Value& object,
                       std::vector<std::string>* unknown = nullptr);

// Checks what names embedded resources, and decodes their metadata; what that does not know is removed and
// reported to `unknown`, if given. The problem with the first that cannot be decoded; empty if there is none.
std::string DecodeEmbeddedResources(const CustomSchema& schema, json::Value& object,
                                    std::vector<std::string>* unknown);

// Fills in defaults where a field is absent, or null without being nullable; other nulls that are not
// nullable are removed. True if anything changed.
bool DefaultCustomObject(const CustomSchema& schema, json::Value& object);
bool DefaultCustomObject(const TypeInfo& type, json::Value& object);

// Appends what is wrong, in upstream's words and order: JSON Schema first, then embedded resources, then
// duplicates in sets and maps, then rules (x-kubernetes-validations). With `old`, what is wrong in a part
// that did not change is not reported (upstream: validation ratcheting); of rules it goes to `warnings`, if
// given. Rules are not evaluated after some errors; a note saying so is appended then.
void ValidateCustomObject(const CustomSchema& schema, const json::Value& object, FieldErrors& errors,
                          const json::Value* old = nullptr, std::vector<std::string>* warnings = nullptr);

// The JSON Schema part for any schema node and value. `prefix` goes before the path of every error.
void ValidateAgainstSchema(const CustomSchema& schema, const json::Value& node, const json::Value& value,
                           const FieldPath& prefix, FieldErrors& errors);

}  // namespace flyball::api
