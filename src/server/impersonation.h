// Impersonation: acting as somebody else, for those who may (upstream: the Impersonate-* headers).
#pragma once

#include "base/result.h"
#include "net/http.h"
#include "server/authorization.h"
#include "server/user.h"

namespace flyball::server {

// The user the request asks to act as, or `user` itself. Forbidden if `user` may not.
Result<User> Impersonate(const net::Request& request, User user, const Authorizer& authorizer);

}  // namespace flyball::server
