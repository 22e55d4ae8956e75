// The paths of an OpenAPI document: every operation on every kind. Internal to openapi.h.
#pragma once

#include "api/openapi/json_text.h"
#include "api/openapi/schemas.h"
#include "api/schema/schema.h"

namespace flyball::api {

// Adds the members of "paths" for one kind, and the schemas they refer to besides the kind's own.
void WriteKindPaths(const KindInfo& kind, Dialect dialect, const SchemaSet& schemas, JsonText& json);
// The schemas that a kind's operations take and give besides the kind itself: of its subresources.
void AddSubresourceSchemas(const KindInfo& kind, SchemaSet& schemas);

}  // namespace flyball::api
