// Owners seen through the scale subresource: a Scale shows and takes those of the replicas field only
// (upstream: util/managedfields ScaleHandler).
#pragma once

#include <span>
#include <string_view>

#include "api/apply/field_path_element.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// The Scale's managedFields, from its parent's. `replicas` is the path of the replicas field in the parent.
// An error if those of the parent are malformed.
Result<json::Value> ScaleManagedFields(const json::Value& parent_managed_fields,
                                       std::span<const PathElement> replicas);

// The parent's managedFields after its Scale, which has the given ones now, was written. Entries that come
// from the Scale have no time, as upstream.
Result<json::Value> MergeScaleManagedFields(const json::Value& parent_managed_fields,
                                            const json::Value& scale_managed_fields,
                                            std::string_view parent_api_version,
                                            std::span<const PathElement> replicas);

}  // namespace flyball::api
