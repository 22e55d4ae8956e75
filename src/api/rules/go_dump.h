// How Kubernetes shows what changed in an object that may not change: both as indented JSON of Go's internal
// types, which write every field, and a unified diff of the two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Every field of the type under its Go name, zero values and nulls too, indented by one.
std::string GoDump(const TypeInfo& type, const json::Value& value);

// The same as a value, for messages that show it on one line. `type_name`: its OpenAPI name
// ("io.k8s.api.core.v1.PodSpec").
json::Value GoInternal(std::string_view type_name, const json::Value& value);

// "@@ -140,7 +140,7 @@" and the lines, three of context around each change. "" if the texts are equal.
std::string UnifiedDiff(const std::string& before, const std::string& after);

// Both together, for values of the type of that OpenAPI name ("io.k8s.api.core.v1.PodSpec").
std::string GoDifference(std::string_view type_name, const json::Value& before, const json::Value& after);

}  // namespace flyball::api
