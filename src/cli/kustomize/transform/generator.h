// Makes ConfigMaps and Secrets from literals and files (upstream: api/internal/generators and kv), and the
// suffix by which their names follow their content (upstream: hasher).
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "cli/kustomize/input/folder_loader.h"
#include "cli/kustomize/input/kustomization.h"
#include "cli/kustomize/resource/resource_list.h"

namespace flyball::cli::kustomize {

// Fails for an entry without a name, a key that occurs twice, malformed literals and files that cannot be
// read.
Result<std::unique_ptr<Resource>> Generate(const GeneratorEntry& entry, const FolderLoader& loader);

// Ten letters and digits that depend on the content of a ConfigMap or a Secret.
std::string ContentHash(const json::Value& object);
// The same of any content: ten letters and digits from its SHA-256 (upstream: kubectl has a copy of this).
std::string NameHash(json::Value content);
// Appends it to the names of those that need it.
void AddHashes(ResourceList& resources);

}  // namespace flyball::cli::kustomize
