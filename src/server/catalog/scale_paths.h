// Where a kind keeps its replicas: fixed for built-in kinds, said by the definition for custom ones.
#pragma once

#include <string>

#include "api/rules/field_error.h"
#include "json/value.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// Dotted paths that start with a dot: ".spec.replicas". An empty selector path means the kind has none.
struct ScalePaths {
  std::string spec_replicas = ".spec.replicas";
  std::string status_replicas = ".status.replicas";
  std::string selector = ".spec.selector";
};
ScalePaths ScalePathsOf(const ServedResource& resource);

// The numbers of replicas and the selector that a custom object with a scale holds. `spec`: those of its spec
// too.
void ValidateCustomScale(const ServedResource& resource, const json::Value& object, bool spec,
                         api::FieldErrors& errors);

}  // namespace flyball::server
