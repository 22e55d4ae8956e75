// The changes that a kustomization makes to its resources, one by one (upstream: api/internal/builtins). Each
// function returns a transformer that has read and checked what it needs, and fails if that is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/input/folder_loader.h"
#include "cli/kustomize/input/kustomization.h"
#include "cli/kustomize/resource/resource_list.h"
#include "cli/kustomize/transform/transformer_config.h"

namespace flyball::cli::kustomize {

struct Transformer {
  std::string name;  // "PrefixTransformer", for buildMetadata
  std::function<Status(ResourceList&)> run;
};

// What is said of a transformer that cannot do what the kustomization asks for: `config` is what it was
// given.
Unexpected ConfigFailure(const char* name, const json::Value& config, const std::string& problem);

Transformer NamespaceTransformer(const std::string& ns, const FieldSpecs& specs);
Transformer PrefixTransformer(const std::string& prefix, const FieldSpecs& specs);
Transformer SuffixTransformer(const std::string& suffix, const FieldSpecs& specs);
Transformer LabelTransformer(const StringMap& labels, const FieldSpecs& specs);
// One for each entry of `labels`, and one for `commonLabels`.
Result<std::vector<Transformer>> LabelTransformers(const Kustomization& kustomization,
                                                   const TransformerConfig& config);
Transformer AnnotationsTransformer(const StringMap& annotations, const FieldSpecs& specs);
Transformer ReplicaTransformer(const ReplicaEntry& replica, const FieldSpecs& specs);
Transformer ImageTransformer(const ImageEntry& image, const FieldSpecs& specs);

// `patches`: strategic merge or JSON 6902, which the text shows.
Result<Transformer> PatchTransformer(const PatchEntry& patch, const FolderLoader& loader);
// `patchesStrategicMerge`: texts or files.
Result<Transformer> StrategicMergeTransformer(const std::vector<std::string>& patches,
                                              const FolderLoader& loader);
// `patchesJson6902`.
Result<Transformer> JsonPatchTransformer(const PatchEntry& patch, const FolderLoader& loader);

Result<Transformer> ReplacementTransformer(const std::vector<Replacement>& replacements,
                                           const FolderLoader& loader);

}  // namespace flyball::cli::kustomize
