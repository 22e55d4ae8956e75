// Admission for what is created below an object and is not stored: tokens, evictions.
#pragma once

#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/registry/server_state.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Asks all plugins about creating `object` as the request's subresource. They may change it. Forbidden, or
// another error, if one refuses. Requires that all of it lives until then.
Task<Status> AdmitSubresource(ServerState& state, RequestScope& scope, json::Value& object);

// Asks all plugins about a connection (exec, attach, portforward, proxy), whose options are the request's
// query: as PodExecOptions, NodeProxyOptions and so on. Forbidden, or another error, if one refuses.
Task<Status> AdmitConnect(ServerState& state, RequestScope& scope);

}  // namespace flyball::server
