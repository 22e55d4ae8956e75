// Merging of lists by the keys of their items: the inner part of node_merge.h, which see.
#pragma once

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

// What is known about a node: its type, and the field it is the value of. Both null for what has no schema.
struct NodeType {
  const api::TypeInfo* type = nullptr;
  const api::FieldInfo* field = nullptr;
  bool IsMergedList() const;
};

// What has become of a node: it is gone, it was changed in place (or not at all), or `value` takes its place.
struct Merged {
  enum Outcome { kGone, kSame, kNew };
  Outcome outcome;
  json::Value value;
};

// Merges `patch` into `dest`. Either may be null, meaning absent. Takes directives out of the patch.
Result<Merged> MergeNodes(json::Value* dest, json::Value* patch, const NodeType& type);

// Merges the items of lists whose field is merged by key, or as a set of scalars. `patch` may be null. Items
// that are new, or that the patch names, come first, in the order of the patch.
Status MergeItems(json::Array& dest, json::Array* patch, const NodeType& type);

}  // namespace flyball::cli::kustomize
