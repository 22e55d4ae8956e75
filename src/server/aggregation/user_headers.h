// Who a request comes from, told to a server that believes this one (upstream:
// transport.SetAuthProxyHeaders).
#pragma once

#include "base/values/result.h"
#include "net/http/http.h"
#include "server/request/user.h"

namespace flyball::server {

// Adds X-Remote-User, -Uid, -Group and -Extra-*. Requires that none of them is there. InternalError, with
// headers as they were, if a name or value has a character that no header can carry: a line break would be a
// header of its own.
Status AddUserHeaders(const User& user, net::Headers& headers);

}  // namespace flyball::server
