// Joining the OpenAPI v2 documents of several servers (upstream: kube-openapi/pkg/aggregator). Functions
// only; thread-safe. Every document may be of any shape: parts that are not what they should be are left
// alone.
#pragma once

#include <string_view>

#include "json/value.h"

namespace flyball::api {

// Keeps the paths that start so, and of the definitions and parameters those they refer to.
void FilterOpenApiV2(json::Value& document, std::string_view path_prefix);

// Adds the paths of `other` that are not there yet, with their definitions and parameters. One whose name is
// taken by something else is renamed ("X_v2", "X_v3", ...).
void MergeOpenApiV2(json::Value& document, json::Value other);

// The same API as an OpenAPI v3 document, for servers that have none (upstream: openapiconv.ConvertV2ToV3).
json::Value ConvertOpenApiV2ToV3(const json::Value& document);

}  // namespace flyball::api
