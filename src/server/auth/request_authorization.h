// What a request asks of authorisation: its own attributes, and the further verbs that some requests need.
#pragma once

#include <string_view>

#include "base/run/task.h"
#include "base/values/result.h"
#include "server/auth/authorization.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Of the request as it is. They point to the scope's user.
AuthorizationAttributes AttributesOf(const RequestScope& scope);

// Whether the user may do the same with another verb: an update that creates needs `create`, and so does a
// stream that was asked for by GET. Forbidden if not. Requires that both live until then.
Task<Status> AuthorizeVerb(const Authorizer& authorizer, const RequestScope& scope, std::string_view verb);

}  // namespace flyball::server
