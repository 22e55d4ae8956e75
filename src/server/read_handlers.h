// GET, LIST and WATCH of stored resources.
#pragma once

#include <memory>

#include "base/task.h"
#include "net/http.h"
#include "server/answer.h"
#include "server/request_scope.h"
#include "server/server_state.h"

namespace flyball::server {

Task<Result<Answer>> HandleGet(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandleList(ServerState& state, RequestScope& scope, const net::Request& request);
// Streams until the client goes, the time is up or the server stops. An Error means nothing was sent.
Task<Status> HandleWatch(ServerState& state, RequestScope& scope, const net::Request& request,
                         std::shared_ptr<net::ResponseStream> stream);

}  // namespace flyball::server
