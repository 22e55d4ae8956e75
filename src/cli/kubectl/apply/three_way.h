// The patch of client-side apply: from what was applied last, what is to be, and what is there (upstream:
// CreateThreeWayMergePatch of strategicpatch and jsonmergepatch).
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::cli {

// Sets what `modified` says and `current` does not, deletes what only `original` said; what others have set
// stays. With a type: a strategic merge patch (lists by key where the schema says so, directives); with null,
// a merge patch. An empty object if there is nothing to do.
json::Value ThreeWayPatch(const api::TypeInfo* type, const json::Value& original, const json::Value& modified,
                          const json::Value& current);

}  // namespace flyball::cli
