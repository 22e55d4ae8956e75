#include "server/auth/bearer_token.h"

#include "api/values/ip_address.h"
#include "base/values/ascii.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

std::optional<std::string> TokenInHeader(const net::Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  const auto header = Trimmed(request.headers.Get("authorization"));
  if (header.size() <= kBearer.size() || LowerCase(header.substr(0, kBearer.size())) != kBearer)
    return std::nullopt;
  return std::string(Trimmed(header.substr(kBearer.size())));
}

// One token beside at least one protocol that can be agreed on.
std::optional<std::string> TokenInProtocols(const net::Request& request) {
  std::optional<std::string> token;
  bool others = false, several = false;
  for (const auto header : request.headers.GetAll("sec-websocket-protocol"))
    for (const std::string& word : SplitText(header, ',')) {
      const auto protocol = Trimmed(word);
      const bool is_token = protocol.starts_with(kTokenProtocol);
      others |= !is_token;
      if (!is_token) continue;
      several |= token.has_value();
      token = net::Base64UrlDecode(protocol.substr(kTokenProtocol.size())).value_or("");
    }
  if (token && (several || !others)) return "";
  return token;
}

// "host:port" of "https://host:port".
std::string HostOfOrigin(std::string_view origin) {
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  return LowerCase(origin.substr(scheme + 3));
}

std::string WithoutDefaultPort(std::string host) {
  for (const std::string_view port : {":443", ":80"})
    if (host.ends_with(port)) return host.substr(0, host.size() - port.size());
  return host;
}

bool IsLoopbackHost(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']')) == "[::1";
  const auto name = host.substr(0, host.find(':'));
  const auto ip = api::ParseIp(name);
  return name == "localhost" || (ip && ip->IsLoopback());
}

}  // namespace

std::optional<std::string> BearerToken(const net::Request& request) {
  if (auto token = TokenInHeader(request)) return token;
  return IsWebSocketUpgrade(request) ? TokenInProtocols(request) : std::nullopt;
}

std::string WithoutTokens(std::string_view subprotocols) {
  std::string out;
  for (const std::string& word : SplitText(subprotocols, ',')) {
    const auto protocol = Trimmed(word);
    if (protocol.empty() || protocol.starts_with(kTokenProtocol)) continue;
    out += (out.empty() ? "" : ", ") + std::string(protocol);
  }
  return out;
}

bool IsWebSocketUpgrade(const net::Request& request) {
  return LowerCase(request.headers.Get("upgrade")) == "websocket";
}

Status CheckWebSocketOrigin(const net::Request& request, OtherOrigins others) {
  const auto origin = request.headers.Get("origin");
  if (origin.empty() || !IsWebSocketUpgrade(request) || BearerToken(request)) return {};
  // What Go's WebSocket clients say for want of a page; nothing that a cluster serves is there.
  if (origin == "http://localhost") return {};
  const std::string from = HostOfOrigin(origin);
  const std::string own = LowerCase(request.headers.Get("host"));
  if (!from.empty() && WithoutDefaultPort(from) == WithoutDefaultPort(own)) return {};
  if (others == OtherOrigins::kLoopback && IsLoopbackHost(from)) return {};
  return Unexpected(Error(Reason::kForbidden, 403,
                          "forbidden: origin \"" + std::string(origin) +
                              "\" may not open a WebSocket with a client certificate"));
}

}  // namespace flyball::server
