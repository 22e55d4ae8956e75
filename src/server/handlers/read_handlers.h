// GET, LIST and WATCH of stored resources.
#pragma once

#include <memory>
#include <string>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/cache/watch_cache.h"
#include "server/registry/server_state.h"
#include "server/request/answer.h"
#include "server/request/presentation.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// The objects a list request asks for: its selectors, version, page and continue token. Also what a
// deletecollection deletes.
struct RequestedList {
  ListSnapshot snapshot;
  ListMeta meta;
  std::string
      expired_token;  // not empty: its continue token is too old; this one goes on from the newest state
};
Task<Result<RequestedList>> ListRequested(ServerState& state, RequestScope& scope);
// 410 with a token to go on with.
Answer ExpiredContinue(const std::string& token);

Task<Result<Answer>> HandleGet(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandleList(ServerState& state, RequestScope& scope, const net::Request& request);
// Streams until the client goes, the time is up or the server stops. An Error means nothing was sent.
Task<Status> HandleWatch(ServerState& state, RequestScope& scope, const net::Request& request,
                         std::shared_ptr<net::ResponseStream> stream);

}  // namespace flyball::server
