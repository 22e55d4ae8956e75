// The headers of a request that is passed on to another server, and of the response that comes back.
#pragma once

#include <string_view>

#include "net/http/http.h"

namespace flyball::server {

// Whether a header is about one connection only, so that it is not passed on (RFC 9110, 7.6.1).
bool IsHopByHop(std::string_view name);

// What the other server is to see of the request's headers. Left out: what is about the connection, what
// names or proves the caller to this server (Authorization, Impersonate-*, X-Remote-*), and what belongs to
// an upgrade, which RelayUpgrade adds. Added: X-Forwarded-Uri, -Host, -Proto and -For.
net::Headers ForwardedHeaders(const net::Request& request);

}  // namespace flyball::server
