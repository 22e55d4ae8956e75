// CustomResourceDefinitions of apiextensions.k8s.io/v1beta1, which no server has served since
// Kubernetes 1.22, but which manifests are still written in. Functions only; thread-safe.
#pragma once

#include "json/value.h"

namespace flyball::cli {

bool IsOldDefinition(const json::Value& object);

// The same as a v1 definition. What v1beta1 says once for all versions is said for each; a version without a
// schema, or one that keeps unknown fields as v1beta1 does by default, gets a schema that keeps them.
json::Value ConvertOldDefinition(json::Value definition);

}  // namespace flyball::cli
