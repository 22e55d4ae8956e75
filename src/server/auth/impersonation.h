// Impersonation: acting as somebody else, for those who may (upstream: the Impersonate-* headers).
#pragma once

#include "base/values/result.h"
#include "net/http/http.h"
#include "server/auth/authorization.h"
#include "server/request/user.h"

namespace flyball::server {

// The user the request asks to act as, or `user` itself. Forbidden if `user` may not.
Task<Result<User>> Impersonate(const net::Request& request, User user, const Authorizer& authorizer,
                               AuthorizationAttributes asked, Executor& resume);

}  // namespace flyball::server
