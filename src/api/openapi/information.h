// What an OpenAPI document says of the paths that serve no kind: discovery, /version, keys of service
// accounts, logs. Internal to openapi.h. Functions only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/openapi/operation.h"
#include "api/wire/discovery.h"

namespace flyball::api {

// The schema of GET /version.
inline constexpr std::string_view kVersionInfoSchema = "io.k8s.apimachinery.pkg.version.Info";

// GET /api/v1/ or /apis/<group>/<version>/.
PathItem GroupVersionPathItem(std::string_view group, std::string_view version);

// The documents besides those of group versions: "api", "apis", "apis/<group>", "version", ... in this order.
std::vector<std::string> InformationDocuments(KindList kinds);
// Their paths; empty: there is no such document.
std::vector<PathItem> InformationPathItems(KindList kinds, std::string_view document);
// Names of the schemas that they refer to.
std::vector<std::string> InformationSchemas(const std::vector<PathItem>& items);

}  // namespace flyball::api
