// Kustomization: what a kustomization.yaml says (upstream: types.Kustomization). Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/resource/field_spec.h"
#include "cli/kustomize/resource/selector.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

using StringMap = std::map<std::string, std::string>;

struct LabelEntry {
  StringMap pairs;
  bool include_selectors = false, include_templates = false;
  FieldSpecs fields;
};

struct ImageEntry {
  std::string name, new_name, new_tag, digest, tag_suffix;
};

struct ReplicaEntry {
  std::string name;
  std::int64_t count = 0;
};

struct PatchEntry {
  std::string path, patch;
  std::optional<Selector> target;
  bool allow_name_change = false, allow_kind_change = false;
  json::Value source;  // as it was written, for messages
};

struct GeneratorOptions {
  StringMap labels, annotations;
  bool disable_name_suffix_hash = false, immutable = false;
};

// For a ConfigMap or a Secret.
struct GeneratorEntry {
  bool secret = false;
  std::string name, ns, type;
  Behavior behavior = Behavior::kUnspecified;
  std::vector<std::string> literals, files, envs;
  GeneratorOptions options;  // those of the whole kustomization included
};

struct FieldOptions {
  std::string delimiter;
  std::int64_t index = 0;
  bool create = false;
};

struct ReplacementSource {
  ResourceId id;
  std::string field_path;
  FieldOptions options;
  std::string ToString() const;
};

struct ReplacementTarget {
  std::optional<Selector> select;
  std::vector<Selector> reject;
  std::vector<std::string> field_paths;
  FieldOptions options;
};

struct Replacement {
  std::string path;  // of a file that holds it, or a list of them
  std::optional<ReplacementSource> source;
  std::optional<std::string> source_value;
  std::vector<ReplacementTarget> targets;
  json::Value written;  // for messages
};

struct Variable {
  std::string name;
  ResourceId object;
  std::string field_path;
  std::string written;  // as Go prints what was written
  // As Go prints it.
  std::string ToString() const;
};

struct SortOptions {
  std::string order;
  bool has_legacy = false;
  std::vector<std::string> first, last;
};

struct Kustomization {
  std::string api_version, kind;
  std::string name_prefix, name_suffix, ns;
  StringMap common_labels, common_annotations;
  std::vector<LabelEntry> labels;
  std::vector<std::string> resources, components, crds, configurations, build_metadata;
  std::vector<std::string> patches_strategic_merge;
  std::vector<PatchEntry> patches, patches_json6902;
  std::vector<ImageEntry> images;
  std::vector<ReplicaEntry> replicas;
  std::vector<GeneratorEntry> config_maps, secrets;
  std::vector<Replacement> replacements;
  std::vector<Variable> vars;
  std::optional<SortOptions> sort_options;
  // The fields that are given but not supported: "helmCharts".
  std::vector<std::string> unsupported;
  // What kustomize says about fields that are deprecated.
  std::vector<std::string> warnings;

  bool is_component() const { return kind == "Component"; }
};

// Reads the text of a kustomization. `folder` is named in messages. Fails as kustomize does for unknown
// fields, wrong types, empty files and wrong kinds.
Result<Kustomization> ParseKustomization(std::string_view text, const std::string& folder);
// Reads the content of a file that a replacement names: one, or a list of them.
Result<std::vector<Replacement>> ParseReplacements(std::string_view text);

// Reads field specs from a value that is known to hold them.
FieldSpecs FieldSpecsFrom(const json::Value& list);

}  // namespace flyball::cli::kustomize
