// POST, PUT, PATCH and DELETE of stored resources and their status.
#pragma once

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/registry/server_state.h"
#include "server/request/answer.h"
#include "server/request/request_scope.h"

namespace flyball::server {

Task<Result<Answer>> HandleCreate(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandleUpdate(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandlePatch(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandleDelete(ServerState& state, RequestScope& scope, const net::Request& request);
Task<Result<Answer>> HandleDeleteCollection(ServerState& state, RequestScope& scope,
                                            const net::Request& request);

// The object in the form the client asked for.
Result<Answer> ObjectAnswer(const RequestScope& scope, const net::Request& request,
                            const StoredObject& object, int code);

}  // namespace flyball::server
