// The transport without sockets: requests go straight to a handler in this process. Everything else
// (authentication, authorisation, admission, back-pressure) is as over the network; only sockets and TLS are
// gone.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "net/http/http.h"
#include "server/request/user.h"

namespace flyball::server {

// Who sends a request, asked for each one. Thread-safe.
using PeerSource = std::function<net::Peer()>;
// Always that user, whom nobody needs to authenticate.
PeerSource FixedPeer(const User& user);
// Who presents the certificate that `certificate_pem` gives at that moment ("": none, a bearer token may say
// who it is). It is checked against the authorities and the clock as a TLS server does.
PeerSource CertificatePeer(std::function<std::string()> certificate_pem, const std::string& authorities_pem,
                           const Clock& clock);

// Handlers run on `executor`, or inline in Start when the executor is a SimExecutor's (`inline_start`): then
// a request that never waits has been answered when Start returns, which is what simulation needs.
std::unique_ptr<net::Transport> NewInProcessTransport(net::Handler handler, Executor& executor,
                                                      PeerSource peer, bool inline_start);

}  // namespace flyball::server
