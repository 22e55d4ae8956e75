// Builds kustomizations: `flyball kustomize DIR` and -k, as kustomize v5.8 does, which kubectl v1.37 embeds.
#pragma once

#include <ostream>
#include <string>

#include "base/values/result.h"
#include "cli/kustomize/resource/resource_list.h"

namespace flyball::cli::kustomize {

// The version of kustomize whose results these are.
inline constexpr const char* kKustomizeVersion = "v5.8.1";

struct BuildOptions {
  bool files_anywhere = false;  // not only in and below the folder of each kustomization
  bool keep_order = false;      // unless the kustomization says how to sort
};

// Returns the objects that the kustomization in this folder describes, in the order in which they are to be
// written. Warnings go to `warnings` as they come up. Fails with kustomize's words.
Result<ResourceList> BuildKustomization(const std::string& folder, const BuildOptions& options,
                                        std::ostream& warnings);

}  // namespace flyball::cli::kustomize
