// What is done once, when all resources are there: references follow the names, variables get their values,
// and the objects get their order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/input/kustomization.h"
#include "cli/kustomize/resource/resource_list.h"
#include "cli/kustomize/transform/transformer_config.h"

namespace flyball::cli::kustomize {

// Puts the present names of objects where their former ones are used (upstream: filter nameref). Fails if a
// name could mean several objects that now have different names.
Status FixNameReferences(ResourceList& resources, const std::vector<NameReference>& references);

// Notes in the resources which of these variables read from them. Fails if several could be meant.
Status BindVariables(ResourceList& resources, const std::vector<Variable>& variables);
// Replaces $(NAME) by the value of the variable (upstream: filter refvar). Fails for a variable whose object
// or field does not exist. Adds a line to `warnings` for those never used.
Status ResolveVariables(ResourceList& resources, const std::vector<Variable>& variables,
                        const FieldSpecs& specs, std::vector<std::string>& warnings);

// Without options: in the order in which objects are best created. Fails for options that have no meaning.
Status SortResources(ResourceList& resources, const std::optional<SortOptions>& options);

}  // namespace flyball::cli::kustomize
