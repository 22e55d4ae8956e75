#include <gtest/gtest.h>

#include <vector>

#include "net/testing/loopback_fixture.h"
#include "net/websocket/websocket_frames.h"

namespace flyball::net {
namespace {

using namespace std::chrono_literals;
using Type = WebSocket::Type;
using Opened = Result<std::shared_ptr<WebSocket>>;

TEST(WebSocketFramesTest, AcceptIsTheOneOfTheStandard) {
  EXPECT_EQ(WebSocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

struct Frame {
  WebSocketOpcode opcode;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

class ReaderTest : public testing::Test {
 protected:
  int Feed(std::string_view bytes) { return reader_.Feed(bytes); }
  std::vector<Frame> frames_;
  WebSocketReader reader_{{true, 100000}, [this](WebSocketOpcode opcode, std::string payload) {
                            frames_.push_back({opcode, std::move(payload)});
                          }};
};

TEST_F(ReaderTest, FramesOfEverySizeByteByByte) {
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u}) {
    const std::string payload(size, 'p');
    for (const char c : EncodeWebSocketFrame(WebSocketOpcode::kBinary, payload, true, 0x12345678))
      ASSERT_EQ(Feed({&c, 1}), 0);
    ASSERT_EQ(frames_.size(), 1u);
    EXPECT_TRUE(frames_[0] == (Frame{WebSocketOpcode::kBinary, payload}));
    frames_.clear();
  }
}

TEST_F(ReaderTest, FragmentsAreJoinedAndControlFramesComeBetween) {
  auto first = EncodeWebSocketFrame(WebSocketOpcode::kText, "hel", true, 1);
  first[0] = 0x01;
  const auto ping = EncodeWebSocketFrame(WebSocketOpcode::kPing, "?", true, 2);
  auto last = EncodeWebSocketFrame(WebSocketOpcode::kContinuation, "lo", true, 3);
  EXPECT_EQ(Feed(first + ping + last), 0);
  EXPECT_EQ(frames_, (std::vector<Frame>{{WebSocketOpcode::kPing, "?"}, {WebSocketOpcode::kText, "hello"}}));
}

TEST_F(ReaderTest, BadFramesAreRefused) {
  const auto code = [](std::string bytes) {
    WebSocketReader reader({true, 1000}, [](WebSocketOpcode, std::string) {});
    return reader.Feed(bytes);
  };
  EXPECT_EQ(code(EncodeWebSocketFrame(WebSocketOpcode::kText, "unmasked", false, 0)), kWsProtocolError);
  EXPECT_EQ(code(EncodeWebSocketFrame(WebSocketOpcode::kContinuation, "nothing to continue", true, 1)),
            kWsProtocolError);
  EXPECT_EQ(code(EncodeWebSocketFrame(static_cast<WebSocketOpcode>(3), "", true, 1)), kWsProtocolError);
  EXPECT_EQ(code(EncodeWebSocketFrame(WebSocketOpcode::kPing, std::string(126, 'x'), true, 1)),
            kWsProtocolError);
  EXPECT_EQ(code(EncodeWebSocketFrame(WebSocketOpcode::kText, std::string(1001, 'x'), true, 1)), kWsTooBig);
  EXPECT_EQ(code(std::string("\xf1\x80\0\0\0\0", 6)), kWsProtocolError);
  EXPECT_EQ(code(std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14)), kWsTooBig);
}

class WebSocketTest : public testing::TestWithParam<Wire> {
 protected:
  static Opened Open(Loopback& net, const std::string& target, std::vector<std::string> subprotocols) {
    Notification<Opened> opened;
    net.client().OpenWebSocket({.target = target}, std::move(subprotocols),
                               [&](Opened result) { opened.Set(std::move(result)); });
    return opened.Wait();
  }

  static Task<void> Echo(std::shared_ptr<Request> request, Answer answer) {
    const bool wants =
        request->headers.Get("sec-websocket-protocol").find("v5.channel.k8s.io") != std::string::npos;
    auto accepted = answer->AcceptWebSocket(wants ? "v5.channel.k8s.io" : "");
    if (!accepted) {
      answer->Send(accepted.error().code(), {}, accepted.error().message());
      co_return;
    }
    std::weak_ptr<WebSocket> weak = *accepted;
    (*accepted)->OnMessage([weak](Type type, std::string message) {
      const auto socket = weak.lock();
      if (message == "close me")
        socket->Close(1000, "as you wish");
      else
        socket->Send(type, std::move(message));
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Wires, WebSocketTest, testing::Values(Wire::kH1, Wire::kH1Tls, Wire::kH2Tls),
                         WireName);

TEST_P(WebSocketTest, EchoesMessagesInOrder) {
  Loopback net(GetParam(), {{"/exec", Echo}});
  auto opened = Open(net, "/exec?command=ls", {"v5.channel.k8s.io", "v4.channel.k8s.io"});
  ASSERT_TRUE(opened) << opened.error().ToString();
  WebSocket& socket = **opened;
  EXPECT_EQ(socket.subprotocol(), "v5.channel.k8s.io");
  Mutex mu;
  CondVar changed;
  std::vector<std::pair<Type, std::string>> got;
  socket.OnMessage([&](Type type, std::string message) {
    MutexLock lock(mu);
    got.emplace_back(type, std::move(message));
    changed.NotifyAll();
  });
  const std::string big(300'000, 'b');
  EXPECT_TRUE(socket.Send(Type::kText, "one"));
  EXPECT_TRUE(socket.Send(Type::kBinary, big));
  EXPECT_TRUE(socket.Send(Type::kBinary, ""));
  {
    MutexLock lock(mu);
    while (got.size() < 3) changed.Wait(mu);
  }
  EXPECT_EQ(got[0], std::pair(Type::kText, std::string("one")));
  EXPECT_TRUE(got[1] == std::pair(Type::kBinary, big));
  EXPECT_EQ(got[2], std::pair(Type::kBinary, std::string()));
  auto closed = std::make_shared<Notification<bool>>();
  socket.OnClose([closed] { closed->Set(true); });
  socket.Close(1000, "");
  EXPECT_TRUE(closed->Wait());
  EXPECT_FALSE(socket.Send(Type::kText, "late"));
}

TEST_P(WebSocketTest, TheServerCloses) {
  Loopback net(GetParam(), {{"/exec", Echo}});
  auto opened = Open(net, "/exec", {});
  ASSERT_TRUE(opened) << opened.error().ToString();
  EXPECT_EQ((*opened)->subprotocol(), "");
  auto closed = std::make_shared<Notification<bool>>();
  (*opened)->OnClose([closed] { closed->Set(true); });
  (*opened)->Send(Type::kText, "close me");
  EXPECT_TRUE(closed->Wait());
}

TEST_P(WebSocketTest, ServerShutdownClosesIt) {
  Loopback net(GetParam(), {{"/exec", Echo}});
  auto opened = Open(net, "/exec", {});
  ASSERT_TRUE(opened);
  auto closed = std::make_shared<Notification<bool>>();
  (*opened)->OnClose([closed] { closed->Set(true); });
  net.server().Shutdown(10s);
  EXPECT_TRUE(closed->Wait());
}

TEST_P(WebSocketTest, ARefusalIsAnErrorWithItsStatus) {
  Loopback net(GetParam(), {{"/no", [](auto, Answer answer) -> Task<void> {
                               answer->Send(403, {}, "forbidden for you");
                               co_return;
                             }}});
  const auto opened = Open(net, "/no", {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), 403);
  EXPECT_TRUE(opened.error().Is(Reason::kForbidden));
  EXPECT_EQ(opened.error().message(), "forbidden for you");
}

TEST_P(WebSocketTest, AnOrdinaryRequestCannotBeAccepted) {
  Loopback net(GetParam(), {{"/exec", Echo}});
  EXPECT_EQ(net.Get("/exec")->status, 400);
}

}  // namespace
}  // namespace flyball::net
