// The annotation in which `kubectl apply` on the client side remembers what it applied last. When kubectl
// goes over to server-side apply the server honours it (upstream: lastappliedmanager.go,
// lastappliedupdater.go).
#pragma once

#include <string_view>

#include "api/apply/field_set.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

inline constexpr std::string_view kLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

// The fields client-side apply has set and that still have the value it gave them. Empty if there is no
// (valid) annotation of that version.
FieldSet LastAppliedFields(const TypeInfo& type, const json::Value& object, std::string_view api_version);

// If the object has the annotation, makes it say that the configuration was applied; drops it if annotations
// would become too large.
void UpdateLastApplied(json::Value& object, const json::Value& configuration);

}  // namespace flyball::api
