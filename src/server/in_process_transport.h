// The transport without sockets: requests go straight to a handler in this process. Everything else
// (authentication, authorisation, admission, back-pressure) is as over the network; only sockets and TLS are
// gone.
#pragma once

#include <memory>

#include "base/run/executor.h"
#include "net/http/http.h"
#include "server/request/user.h"

namespace flyball::server {

// Handlers run on `executor`, or inline in Start when the executor is a SimExecutor's (`inline_start`): then
// a request that never waits has been answered when Start returns, which is what simulation needs.
std::unique_ptr<net::Transport> NewInProcessTransport(net::Handler handler, Executor& executor, User user,
                                                      bool inline_start);

}  // namespace flyball::server
