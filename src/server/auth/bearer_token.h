// Bearer tokens in requests: the Authorization header, or the WebSocket subprotocol that browsers use because
// they cannot set headers there (upstream: request/bearertoken, request/websocket).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::server {

// nullopt: the request has none. "" is a malformed one, which nobody's token is.
std::optional<std::string> BearerToken(const net::Request& request);

// The offered subprotocols ("a, b") without those that are tokens: all that anybody behind this server may
// see.
std::string WithoutTokens(std::string_view subprotocols);

bool IsWebSocketUpgrade(const net::Request& request);

// A page of another site must not use the certificate that the browser shows by itself: WebSockets are not
// held to the same origin. Forbidden unless the request has no Origin, has a token (which no other site's
// page knows), or comes from this server's own host. kLoopback lets in pages of this machine too, as `kubectl
// proxy` serves them.
enum class OtherOrigins : std::uint8_t { kNone, kLoopback };
Status CheckWebSocketOrigin(const net::Request& request, OtherOrigins others);

}  // namespace flyball::server
