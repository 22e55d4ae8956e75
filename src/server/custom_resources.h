// Custom resources: turns CustomResourceDefinitions into served resources, and back off again when they go.
// The definitions' status (names accepted, established, stored versions) is written by the server itself, as
// upstream's apiextensions controllers do inside kube-apiserver.
#pragma once

#include "api/field_error.h"
#include "json/value.h"

namespace flyball::api {
class CustomKind;
}

namespace flyball::server {

// Whether `object` (an update of `old`, or new if that is null) obeys the definition's schema.
void ValidateCustom(const api::CustomKind& kind, const json::Value& object, const json::Value* old,
                    api::FieldErrors& errors);

}  // namespace flyball::server
