// CustomResourceDefinitions as kube-apiserver stores them: it still writes version v1beta1, in which what all
// versions have in common stands once, beside them.
#pragma once

#include "json/value.h"

namespace flyball::server {

// Whether an object is such a definition.
bool IsOldDefinition(const json::Value& object);
// The same definition in version v1 (upstream: the conversions of apiextensions).
json::Value DefinitionFromOld(json::Value definition);

}  // namespace flyball::server
