// The options of writes (CreateOptions, UpdateOptions, PatchOptions, DeleteOptions), checked as upstream
// checks them.
#pragma once

#include <string_view>

#include "base/values/result.h"
#include "net/http/http.h"
#include "server/registry/registry.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Reads dryRun, fieldManager, fieldValidation and force of the query into the scope. `kind` names the options
// in errors.
Status ReadWriteOptions(RequestScope& scope, std::string_view kind);

// DeleteOptions of the body, else of the query.
Result<DeleteOptions> ReadDeleteOptions(RequestScope& scope, const net::Request& request);

// The name and namespace an object says it has must be the URL's. BadRequest otherwise.
Status CheckName(const RequestScope& scope, const json::Value& object);

}  // namespace flyball::server
