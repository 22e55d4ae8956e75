// The headers of a request that is passed on to another server, and of the response that comes back.
#pragma once

#include "net/relay/relay.h"

namespace flyball::server {

using net::IsHopByHop;

// What the other server is to see of the request's headers. Left out: what is about the connection, what
// names or proves the caller to this server (Authorization, Impersonate-*, X-Remote-*), and what belongs to
// an upgrade, which RelayUpgrade adds. Added: X-Forwarded-Uri, -Host, -Proto and -For.
net::Headers ForwardedHeaders(const net::Request& request);

}  // namespace flyball::server
