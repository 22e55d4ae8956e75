// RFC 6902 JSON Patch and RFC 7386 JSON Merge Patch, with the error texts of Kubernetes' implementation.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace flyball::json {

// Applies every operation in order to a copy. `patch` must be an array of operations. More than 10,000
// operations are refused (upstream's limit: 413). On failure nothing is changed and the error says which
// operation and why.
Result<Value> ApplyJsonPatch(const Value& document, const Value& patch);

// The merged document: null deletes a member, objects merge, anything else replaces.
Value ApplyMergePatch(Value document, const Value& patch);
// The smallest merge patch that turns `from` into `to`.
Value CreateMergePatch(const Value& from, const Value& to);

}  // namespace flyball::json
