// Resource: an object with what is remembered about it while it is built: the names it had, where it comes
// from, what was done to it (upstream: api/resource, which keeps this in annotations). Thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kustomize/resource/resource_id.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

// Where an object, or a change to it, comes from: a file, or a field of a kustomization.
struct Origin {
  std::string path;
  std::string configured_in, configured_by;  // "kustomization.yaml", "ConfigMapGenerator"
  // As the annotation says it: YAML lines, the first indented by `first`, the others by `rest`.
  std::string ToYaml(std::string_view first, std::string_view rest) const;
};

// What a generator does if the object exists already.
enum class Behavior { kUnspecified, kCreate, kReplace, kMerge };

struct Resource {
  struct Former {
    std::string name, ns, kind;
  };

  json::Value object;
  std::vector<Former> former;  // the oldest first
  std::vector<std::string> prefixes, suffixes;
  std::vector<std::string> var_names;  // of the variables that read from it
  std::optional<Origin> origin;
  std::vector<Origin> changes;
  bool needs_hash = false;
  Behavior behavior = Behavior::kUnspecified;
  // Of a patch: whether it may change what it is applied to.
  bool allow_name_change = false, allow_kind_change = false;

  std::string name() const;
  std::string ns() const;
  std::string kind() const;
  Gvk gvk() const;
  ResourceId Id() const { return {gvk(), name(), ns()}; }
  std::vector<ResourceId> FormerIds() const;
  ResourceId OriginalId() const;
  // The former ones, then the present one.
  std::vector<ResourceId> AllIds() const;

  // Remembers the present id among the former ones.
  void Remember();
  void SetName(std::string_view name);
  // None if it is empty.
  void SetNamespace(std::string_view ns);
  // An object without members is one that a patch has deleted.
  bool empty() const { return object.empty(); }
};

// The text of a scalar as it stands in YAML; "" for maps and lists.
std::string ScalarText(const json::Value& value);
// A member of `metadata`: labels or annotations. Adds it if it is absent. Requires an object.
json::Value& MetadataMap(json::Value& object, std::string_view member);
// The members of metadata.annotations become strings; an empty map is removed. Adds those that tell where
// the object comes from, if asked for.
void FinishAnnotations(Resource& resource, bool with_origin, bool with_changes);

}  // namespace flyball::cli::kustomize
