#include "server/forward/relay.h"

#include <gtest/gtest.h>

#include <memory>

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

// Keeps what it is asked for and never answers.
struct SilentTransport final : net::Transport {
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink>) override {
    asked = std::move(request);
    return nullptr;
  }
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)>) override {}
  void OpenUpgrade(net::Request request, net::UpgradeDone) override { asked = std::move(request); }
  net::Request asked;
};

TEST(RelayTest, TheCallersTokenDoesNotReachThePod) {
  const auto to = std::make_shared<SilentTransport>();
  net::Request request;
  request.headers = {{"upgrade", "websocket"},
                     {"sec-websocket-key", "k"},
                     {"sec-websocket-protocol",
                      "chat, base64url.bearer.authorization.k8s.io." + net::Base64UrlEncode("t") + ", super"},
                     {"authorization", "Bearer t"}};
  RelayUpgrade(to, request, "/x", {}, nullptr);
  EXPECT_EQ(to->asked.headers.Get("sec-websocket-protocol"), "chat, super");
  EXPECT_EQ(to->asked.headers.Get("upgrade"), "websocket");
  EXPECT_FALSE(to->asked.headers.Has("authorization"));
}

TEST(RelayTest, NoProtocolIsOfferedIfOnlyTheTokenWas) {
  const auto to = std::make_shared<SilentTransport>();
  net::Request request;
  request.headers = {{"upgrade", "websocket"},
                     {"sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.dA"}};
  RelayUpgrade(to, request, "/x", {}, nullptr);
  EXPECT_FALSE(to->asked.headers.Has("sec-websocket-protocol"));
}

}  // namespace
}  // namespace flyball::server
