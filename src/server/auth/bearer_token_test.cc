#include "server/auth/bearer_token.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

net::Request WebSocket(const std::string& protocols, const std::string& origin = "") {
  net::Request request;
  request.headers = {{"upgrade", "websocket"}, {"host", "api.example.com:6443"}};
  if (!protocols.empty()) request.headers.Add("sec-websocket-protocol", protocols);
  if (!origin.empty()) request.headers.Set("origin", origin);
  return request;
}
std::string Encoded(const std::string& token) {
  return "base64url.bearer.authorization.k8s.io." + net::Base64UrlEncode(token);
}

TEST(BearerTokenTest, InTheHeader) {
  net::Request request;
  EXPECT_EQ(BearerToken(request), std::nullopt);
  for (const std::string header : {"Bearer t", "bearer t", "BEARER  t "}) {
    request.headers.Set("authorization", header);
    EXPECT_EQ(BearerToken(request), "t") << header;
  }
  for (const std::string header : {"Bearer", "Bearer ", "Basic t", "t"}) {
    request.headers.Set("authorization", header);
    EXPECT_EQ(BearerToken(request), std::nullopt) << header;
  }
}

TEST(BearerTokenTest, AmongTheProtocolsOfAWebSocket) {
  EXPECT_EQ(BearerToken(WebSocket("v4.channel.k8s.io, " + Encoded("t"))), "t");
  EXPECT_EQ(BearerToken(WebSocket("v4.channel.k8s.io")), std::nullopt);
  auto two_headers = WebSocket("v4.channel.k8s.io");
  two_headers.headers.Add("sec-websocket-protocol", Encoded("t"));
  EXPECT_EQ(BearerToken(two_headers), "t");
  // Malformed: a token, but nobody's.
  EXPECT_EQ(BearerToken(WebSocket(Encoded("t"))), "");
  EXPECT_EQ(BearerToken(WebSocket("v4.channel.k8s.io," + Encoded("t") + "," + Encoded("u"))), "");
  EXPECT_EQ(BearerToken(WebSocket("v4.channel.k8s.io,base64url.bearer.authorization.k8s.io.***")), "");
  // Only of WebSockets.
  net::Request plain;
  plain.headers.Set("sec-websocket-protocol", "v4.channel.k8s.io," + Encoded("t"));
  EXPECT_EQ(BearerToken(plain), std::nullopt);
}

TEST(BearerTokenTest, NobodyBehindTheServerSeesIt) {
  EXPECT_EQ(WithoutTokens("v5.channel.k8s.io, " + Encoded("t") + ",v4.channel.k8s.io"),
            "v5.channel.k8s.io, v4.channel.k8s.io");
  EXPECT_EQ(WithoutTokens(Encoded("t")), "");
}

TEST(WebSocketOriginTest, APageOfAnotherSiteCannotUseTheBrowsersCertificate) {
  const auto may = [](const net::Request& request, OtherOrigins others = OtherOrigins::kNone) {
    return static_cast<bool>(CheckWebSocketOrigin(request, others));
  };
  EXPECT_TRUE(may(WebSocket("a")));
  EXPECT_TRUE(may(WebSocket("a", "https://api.example.com:6443")));
  EXPECT_TRUE(may(WebSocket("a", "https://API.example.com:6443")));
  for (const std::string origin :
       {"https://evil.example", "https://api.example.com", "https://api.example.com:6444", "null",
        "https://api.example.com:6443.evil.example", "http://localhost:8001"})
    EXPECT_FALSE(may(WebSocket("a", origin))) << origin;
  // Whoever has a token was given it.
  EXPECT_TRUE(may(WebSocket("a," + Encoded("t"), "https://evil.example")));
  // Go's WebSocket clients name this one for want of a page.
  EXPECT_TRUE(may(WebSocket("a", "http://localhost")));
  // kubectl proxy serves pages on this machine.
  EXPECT_TRUE(may(WebSocket("a", "http://localhost:8001"), OtherOrigins::kLoopback));
  EXPECT_TRUE(may(WebSocket("a", "http://127.0.0.1:8001"), OtherOrigins::kLoopback));
  EXPECT_TRUE(may(WebSocket("a", "http://[::1]:8001"), OtherOrigins::kLoopback));
  for (const std::string origin : {"http://localhost.evil.example", "http://127.0.0.1.evil.example", "null"})
    EXPECT_FALSE(may(WebSocket("a", origin), OtherOrigins::kLoopback)) << origin;
}

TEST(WebSocketOriginTest, OtherRequestsAreNotItsBusiness) {
  net::Request request;
  request.headers = {{"origin", "https://evil.example"}};
  EXPECT_TRUE(CheckWebSocketOrigin(request, OtherOrigins::kNone));
}

}  // namespace
}  // namespace flyball::server
