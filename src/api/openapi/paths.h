// The paths of an OpenAPI document: every operation on every kind. Internal to openapi.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/openapi/operation.h"
#include "api/openapi/schemas.h"
#include "api/schema/schema.h"

namespace flyball::api {

// The paths of one kind, its subresources among them.
std::vector<PathItem> KindPathItems(const KindInfo& kind);
// The schemas that a kind's operations take and give besides the kind itself: of its subresources.
void AddSubresourceSchemas(const KindInfo& kind, SchemaSet& schemas);

// "core_v1", "rbacAuthorization_v1"; without a version "apps".
std::string OpenApiTag(std::string_view group, std::string_view version);
// "Core", "RbacAuthorization": a group inside an operation's id.
std::string OpenApiGroupWord(std::string_view group);

}  // namespace flyball::api
