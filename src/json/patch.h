// RFC 6902 JSON Patch and RFC 7386 JSON Merge Patch, with the behavior and error messages of the library
// Kubernetes uses (evanphx/json-patch v4).
#pragma once

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// Applies every operation in order to a copy of `document`, which must be an object or an array.
//
// Carried over from that library: array indices may be negative (-1 is the last element), "replace" adds an
// absent member of an object, "test" for null passes on an absent member, and a missing "value" is null.
// "copy" operations may add 3 MiB in total.
//
// On failure nothing is changed. BadRequest: `patch` is not an array of operations. RequestEntityTooLarge:
// more than 10,000 operations, or ones that move very many elements of very large lists or maps. Invalid
// (422): an operation does not apply; the message says which and why. (Kubernetes' server answers that one
// with its generic message and keeps the text to itself.)
Result<Value> ApplyJsonPatch(const Value& document, const Value& patch);

// Returns the merged document: null deletes a member, objects merge, everything else replaces. New values are
// added without their null members.
Value ApplyMergePatch(Value document, const Value& patch);
// Returns the smallest merge patch that turns `from` into `to`.
Value CreateMergePatch(const Value& from, const Value& to);

}  // namespace flyball::json
