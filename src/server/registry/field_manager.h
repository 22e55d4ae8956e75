// Who owns which field: the server's use of api/managed_fields.h.
#pragma once

#include <string_view>
#include <vector>

#include "api/apply/managed_fields.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// What turning `old` into `object` changes in the other versions that owners of fields have used. Nothing
// unless a webhook converts between them: otherwise fields are called the same in all. All must live until it
// returns.
using ChangesElsewhere = std::vector<api::VersionedChanges>;
Task<Result<ChangesElsewhere>> FindChangesElsewhere(RequestScope& scope, const ServedResource& resource,
                                                    const json::Value& old, const json::Value& object);

// Sets object's metadata.managedFields for a create (old null), update or patch by scope's manager.
void TrackFields(const RequestScope& scope, const ServedResource& resource, const json::Value* old,
                 json::Value& object, std::string_view subresource, const ChangesElsewhere& elsewhere = {});

// Server-side apply: the object that results from applying `config` to `live` (null: there is none), managed
// fields set. Conflict (409) with a cause a field unless scope.force.
Result<json::Value> ApplyConfiguration(RequestScope& scope, const ServedResource& resource,
                                       const json::Value* live, const json::Value& config,
                                       std::string_view subresource, const ChangesElsewhere& elsewhere = {});

}  // namespace flyball::server
