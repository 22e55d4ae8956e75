// Where a kind keeps its replicas: fixed for built-in kinds, said by the definition for custom ones.
#pragma once

#include <string>

#include "server/catalog/catalog.h"

namespace flyball::server {

// Dotted paths that start with a dot: ".spec.replicas". An empty selector path means the kind has none.
struct ScalePaths {
  std::string spec_replicas = ".spec.replicas";
  std::string status_replicas = ".status.replicas";
  std::string selector = ".spec.selector";
};
ScalePaths ScalePathsOf(const ServedResource& resource);

}  // namespace flyball::server
