// The OpenAPI schema of a built-in type with every reference put in place. Functions only; thread-safe.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// As a CustomResourceDefinition may hold it. Metadata inside another object keeps the members that a template
// gives on (labels, annotations, name, ...). A type that holds itself is cut with
// x-kubernetes-preserve-unknown-fields where it comes again.
json::Value StructuralSchema(const TypeInfo& type);

// What expressions are type checked against (upstream: resolver.PopulateRefs): metadata is whole, a quantity
// has no type, and a type that holds itself is an object without fields where it comes again.
json::Value ResolvedSchema(const TypeInfo& type);

}  // namespace flyball::api
