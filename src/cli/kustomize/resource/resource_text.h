// Reads resources from YAML or JSON, and writes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/resource/resource_list.h"

namespace flyball::cli::kustomize {

// Returns the objects of all documents; those of Lists one by one. Fails for text that is not YAML
// ("MalformedYAMLError: ..."), and for objects without kind or name.
Result<ResourceList::Items> ParseResources(std::string_view text);

// All objects, separated by "---".
std::string WriteResources(const ResourceList& resources);

// The message of a YAML parser without what our parser says in front of it.
std::string YamlProblem(const Error& error);

}  // namespace flyball::cli::kustomize
