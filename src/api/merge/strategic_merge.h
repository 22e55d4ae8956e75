// Strategic merge patch: a merge patch that knows, from the schema, which lists are merged by key and which
// are replaced, and that takes directives (upstream: apimachinery util/strategicpatch).
#pragma once

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// The object with the patch merged into it. Null deletes a member; objects merge; a list is replaced, or
// merged by its patch key (lists of objects) or as a set (lists of scalars) where the field says so.
// Directives:
//   $patch: delete | replace          on an object, or on an item of a merged list
//   $retainKeys: [a, b]               on an object: members not named are removed
//   $setElementOrder/x: [...]         the order of the merged list x
//   $deleteFromPrimitiveList/x: [...] items to take from the merged list x of scalars
//
// Errors have upstream's texts and codes: BadRequest for a directive of the wrong form, Invalid for lists of
// lists, and code 500 without a reason for the rest, such as
// `map: map[image:x] does not contain declared merge key: name`.
Result<json::Value> StrategicMerge(const TypeInfo& type, json::Value original, const json::Value& patch);

}  // namespace flyball::api
