// The patch of client-side apply, computed from the last applied, the desired and the live object (upstream:
// CreateThreeWayMergePatch of strategicpatch and jsonmergepatch).
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::cli {

// Sets what is in `modified` but not in `current`, and deletes what is only in `original`; what others have
// set stays. With a type, returns a strategic merge patch (lists by key where the schema says so,
// directives); with null, a merge patch. Returns an empty object if there is nothing to do.
json::Value ThreeWayPatch(const api::TypeInfo* type, const json::Value& original, const json::Value& modified,
                          const json::Value& current);

// Whether two patches of one object set a field to different values (upstream: MergingMapsHaveConflicts).
bool PatchesConflict(const api::TypeInfo* type, const json::Value& a, const json::Value& b);

}  // namespace flyball::cli
