#include "server/forward/forwarded_headers.h"

#include <string>

#include "net/relay/relay.h"

namespace flyball::server {
namespace {

// What the API server was told about the caller is not the other server's business.
bool IsForUs(std::string_view name) {
  return name == "authorization" || name == "host" || name.starts_with("impersonate-") ||
         name.starts_with("x-remote-") || name.starts_with("sec-websocket-") ||
         name.starts_with("x-stream-protocol-");
}

}  // namespace

net::Headers ForwardedHeaders(const net::Request& request) {
  net::Headers headers;
  for (const auto& [name, value] : request.headers)
    if (!net::IsHopByHop(name) && !IsForUs(name)) headers.Add(name, value);
  headers.Set("x-forwarded-uri", request.target.substr(0, request.target.find('?')));
  headers.Set("x-forwarded-host", std::string(request.headers.Get("host")));
  headers.Set("x-forwarded-proto", request.peer.tls ? "https" : "http");
  const std::string& peer = request.peer.address;
  headers.Set("x-forwarded-for", peer.substr(0, peer.rfind(':')));
  return headers;
}

}  // namespace flyball::server
