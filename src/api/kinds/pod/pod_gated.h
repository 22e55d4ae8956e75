// Pods that are held back by scheduling gates may still become pickier about nodes; and the text of a
// difference.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Puts back as they were the node selector and node affinity of a gated pod's new spec, after having checked
// that they only became narrower.
void AllowGatedChanges(json::Value& spec, const json::Value& old, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
