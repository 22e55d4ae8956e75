// Merges a strategic merge patch into an object as kustomize does (upstream: kyaml merge2 and walk). It
// differs from the server's merge, which api/merge implements: new items of a list come first, lists with
// several keys are matched by all that are given, and the only directive is $patch.
#pragma once

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

// Returns false if the patch deletes the object. Lists are merged by key where the schema of a built-in kind
// says so, and replaced otherwise. Fails if a map, list or scalar meets something of another kind, and for
// unknown directives; the object is then half changed.
Result<bool> MergePatch(json::Value& object, json::Value patch);

}  // namespace flyball::cli::kustomize
