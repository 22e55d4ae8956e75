// Target: one kustomization with its folder, and what it makes of its resources (upstream:
// target.KustTarget).
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/input/folder_loader.h"
#include "cli/kustomize/input/kustomization.h"
#include "cli/kustomize/resource/resource_list.h"
#include "cli/kustomize/transform/transformer.h"
#include "cli/kustomize/transform/transformer_config.h"

namespace flyball::cli::kustomize {

// What has been gathered so far, with the rules for it.
struct Accumulation {
  ResourceList resources;
  TransformerConfig config;
  std::vector<Variable> variables;

  // Fails for objects and variables that are there already.
  Status Add(Accumulation other);
  Status AddVariables(const std::vector<Variable>& more);
};

// Confined to one build. `loader` and `warnings` must outlive it.
class Target {
 public:
  // Reads the kustomization. `path` is that of the folder from the first one, if origins are asked for.
  static Result<Target> Load(const FolderLoader& loader, std::ostream& warnings);

  const Kustomization& kustomization() const { return kustomization_; }
  // From here on, resources remember where they come from. `path` leads from the first folder to this one.
  void TrackOrigins(std::string path) { origin_path_ = std::move(path); }

  // Adds the resources of this kustomization, and changes all that are there then as it says. A component is
  // given what the kustomization that names it has gathered; others start with nothing.
  Result<Accumulation> Accumulate(Accumulation start) const;

 private:
  Target(const FolderLoader& loader, std::ostream& warnings) : loader_(&loader), warnings_(&warnings) {}

  Status AddResources(Accumulation& all) const;
  Status AddFile(Accumulation& all, const std::string& path) const;
  Status AddFolder(Accumulation& all, const FolderLoader& loader, const std::string& path,
                   bool is_component) const;
  Status AddComponents(Accumulation& all) const;
  Status AddConfiguration(Accumulation& all) const;
  Status RunGenerators(Accumulation& all) const;
  Result<std::vector<Transformer>> Transformers(const TransformerConfig& config) const;
  Status RunTransformers(Accumulation& all) const;
  Status AddVariables(Accumulation& all) const;
  std::string PathOf(const std::string& name) const;

  const FolderLoader* loader_;
  std::ostream* warnings_;
  Kustomization kustomization_;
  std::string file_name_;
  std::optional<std::string> origin_path_;
};

}  // namespace flyball::cli::kustomize
