// The schema of a built-in type as a CustomResourceDefinition may hold it: the OpenAPI document of the type
// with every reference put in place. Functions only; thread-safe.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Metadata inside another object keeps the members that a template gives on (labels, annotations, name, ...).
// A type that holds itself is cut with x-kubernetes-preserve-unknown-fields where it comes again.
json::Value StructuralSchema(const TypeInfo& type);

}  // namespace flyball::api
