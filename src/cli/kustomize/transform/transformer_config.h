// TransformerConfig: which fields the transformers change, and which fields hold names of other objects
// (upstream: builtinconfig.TransformerConfig). A kustomization may add to it.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/input/folder_loader.h"
#include "cli/kustomize/resource/field_spec.h"

namespace flyball::cli::kustomize {

// The fields that hold names of objects of one kind.
struct NameReference {
  Gvk target;
  FieldSpecs referrers;
};

struct TransformerConfig {
  FieldSpecs name_prefix, name_suffix, ns, common_labels, labels, template_labels, common_annotations,
      var_reference, images, replicas;
  std::vector<NameReference> name_references;

  // Adds what is not there. Fails if the two contradict each other.
  Status Merge(const TransformerConfig& other);
};

// Those of kustomize. Made once.
const TransformerConfig& DefaultTransformerConfig();
// The defaults and what the files of `configurations` add.
Result<TransformerConfig> LoadConfigurations(const FolderLoader& loader,
                                             const std::vector<std::string>& paths);
// What OpenAPI definitions of custom kinds (`crds`) say about their fields.
Result<TransformerConfig> LoadCrds(const FolderLoader& loader, const std::vector<std::string>& paths);

}  // namespace flyball::cli::kustomize
