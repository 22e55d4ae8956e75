// Watches that are asked for as WebSockets.
#include <gtest/gtest.h>

#include "base/run/notification.h"
#include "json/json.h"
#include "server/testing/http_fixture.h"

namespace flyball::server {
namespace {

using Type = net::WebSocket::Type;
const std::string kWatchedMaps = "/api/v1/namespaces/default/configmaps";

// What a WebSocket has received.
struct Messages {
  Mutex mu;
  CondVar changed;
  std::vector<std::pair<Type, std::string>> got FLYBALL_GUARDED_BY(mu);
  std::pair<Type, std::string> Wait(std::size_t index) {
    MutexLock lock(mu);
    while (got.size() <= index) changed.Wait(mu);
    return got[index];
  }
};

class WebSocketWatchTest : public HttpFixture {
 protected:
  void Make(const std::string& name) {
    EXPECT_EQ(Do("POST", kWatchedMaps, R"({"metadata":{"name":")" + name + R"("}})").status, 201);
  }
  Result<std::shared_ptr<net::WebSocket>> Open(const std::string& query, net::Headers headers,
                                               std::vector<std::string> protocols = {}) {
    headers.Set("authorization", "Bearer admin");
    Notification<Result<std::shared_ptr<net::WebSocket>>> opened;
    client_->OpenWebSocket({.target = kWatchedMaps + query, .headers = std::move(headers)},
                           std::move(protocols), [&](auto result) { opened.Set(std::move(result)); });
    return opened.Wait();
  }
  static std::shared_ptr<Messages> Follow(net::WebSocket& socket) {
    auto messages = std::make_shared<Messages>();
    socket.OnMessage([messages](Type type, std::string text) {
      MutexLock lock(messages->mu);
      messages->got.emplace_back(type, std::move(text));
      messages->changed.NotifyAll();
    });
    return messages;
  }
};

TEST_F(WebSocketWatchTest, EachEventIsAMessageOfText) {
  Make("first");
  const auto socket = Open("?watch=1&fieldSelector=metadata.namespace=default", {});
  ASSERT_TRUE(socket) << socket.error().ToString();
  EXPECT_EQ((*socket)->subprotocol(), "");
  const auto messages = Follow(**socket);
  const auto [type, text] = messages->Wait(0);
  EXPECT_EQ(type, Type::kText);
  const auto event = *json::Parse(text);
  EXPECT_EQ(event["type"].string_or(""), "ADDED");
  EXPECT_EQ(event["object"]["metadata"]["name"].string_or(""), "first");
  Make("second");
  EXPECT_EQ((*json::Parse(messages->Wait(1).second))["object"]["metadata"]["name"].string_or(""), "second");
  (*socket)->Close(1000, "");
}

TEST_F(WebSocketWatchTest, ProtobufIsSentInBinaryMessagesWithoutALength) {
  Make("first");
  const auto socket = Open("?watch=1", {{"accept", "application/vnd.kubernetes.protobuf;stream=watch"}});
  ASSERT_TRUE(socket) << socket.error().ToString();
  const auto [type, text] = Follow(**socket)->Wait(0);
  EXPECT_EQ(type, Type::kBinary);
  EXPECT_EQ(text.substr(0, 7), std::string("\n\x05"
                                           "ADDED"));
  (*socket)->Close(1000, "");
}

TEST_F(WebSocketWatchTest, TheFirstProtocolIsTaken) {
  const auto socket = Open("?watch=1", {}, {"base64.binary.k8s.io", "binary.k8s.io"});
  ASSERT_TRUE(socket) << socket.error().ToString();
  EXPECT_EQ((*socket)->subprotocol(), "base64.binary.k8s.io");
  (*socket)->Close(1000, "");
}

TEST_F(WebSocketWatchTest, ItEndsWhenItsTimeIsOver) {
  const auto socket = Open("?watch=1&timeoutSeconds=1", {});
  ASSERT_TRUE(socket) << socket.error().ToString();
  auto closed = std::make_shared<Notification<bool>>();
  (*socket)->OnClose([closed] { closed->Set(true); });
  EXPECT_TRUE(closed->Wait());
}

TEST_F(WebSocketWatchTest, WhatMakesNoSenseIsRefusedBeforeTheUpgrade) {
  const auto socket = Open("?watch=1&labelSelector=a%3D%3D%3D", {});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code(), 400);
}

TEST_F(WebSocketWatchTest, APageOfAnotherSiteGetsNone) {
  const auto bound = Do("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                        R"({"metadata":{"name":"all"},
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
      "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:unauthenticated"}]})");
  ASSERT_EQ(bound.status, 201) << bound.body;
  const auto open = [&](const std::string& origin) {
    Notification<Result<std::shared_ptr<net::WebSocket>>> opened;
    client_->OpenWebSocket({.target = kWatchedMaps + "?watch=1", .headers = {{"origin", origin}}}, {},
                           [&](auto result) { opened.Set(std::move(result)); });
    return opened.Wait();
  };
  EXPECT_EQ(open("https://evil.example.com").error().code(), 403);
  const auto own = open("http://127.0.0.1:" + std::to_string(http_->port()));
  ASSERT_TRUE(own) << own.error().ToString();
  (*own)->Close(1000, "");
}

}  // namespace
}  // namespace flyball::server
