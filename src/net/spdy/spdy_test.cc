// SPDY/3.1: frames from bytes, and two sessions of ours over every way of leaving HTTP.
#include <gtest/gtest.h>

#include "net/client/tcp_client.h"
#include "net/spdy/spdy_session.h"
#include "net/testing/loopback_fixture.h"

namespace flyball::net {
namespace {

using namespace std::chrono_literals;

TEST(SpdyFramesTest, HeadersSurviveBothDirectionsAndMany) {
  SpdyHeaderEncoder encoder;
  SpdyHeaderDecoder decoder;
  for (int i = 0; i < 50; ++i) {
    const Headers sent{{"streamtype", "data"}, {"port", std::to_string(8000 + i)}, {"requestid", "7"}};
    const auto got = decoder.Decode(encoder.Encode(sent));
    ASSERT_TRUE(got) << got.error().ToString();
    EXPECT_EQ(got->Get("port"), std::to_string(8000 + i));
    EXPECT_EQ(got->size(), 3u);
  }
  EXPECT_EQ(decoder.Decode(encoder.Encode({}))->size(), 0u);
}

// As spdystream compressed {"streamtype": "error"} at the beginning of a connection: the dictionary is the
// same.
TEST(SpdyFramesTest, TheDictionaryIsTheStandards) {
  const std::string begin = SpdyHeaderEncoder().Encode({{"content-type", "text/plain"}});
  // A zlib head that says "with a dictionary", and the Adler-32 sum of it.
  ASSERT_GT(begin.size(), 6u);
  EXPECT_EQ(static_cast<unsigned char>(begin[1]) & 0x20, 0x20);
  EXPECT_EQ(begin.substr(2, 4), "\xe3\xc6\xa7\xc2");
}

TEST(SpdyFramesTest, BrokenHeaderBlocksAreErrors) {
  EXPECT_FALSE(SpdyHeaderDecoder().Decode("not zlib at all"));
  EXPECT_FALSE(SpdyHeaderDecoder().Decode(""));
  SpdyHeaderEncoder encoder;
  EXPECT_FALSE(SpdyHeaderDecoder().Decode(encoder.Encode({{"bomb", std::string(1u << 20, 'a')}})));
}

TEST(SpdyFramesTest, FramesAreFoundByteByByte) {
  std::string seen;
  SpdyReader reader(
      {.control =
           [&](SpdyType type, std::uint8_t flags, std::string_view payload) {
             seen += "c" + std::to_string(static_cast<int>(type)) + "/" + std::to_string(flags) + "/" +
                     std::to_string(payload.size()) + " ";
           },
       .data = [&](std::uint32_t id, std::string_view data,
                   bool fin) { seen += "d" + std::to_string(id) + std::string(data) + (fin ? "! " : " "); }});
  const std::string bytes = EncodeSpdyPing(1) + EncodeSpdyData(3, false, "ab") + EncodeSpdyData(3, true, "") +
                            EncodeSpdyPair(SpdyType::kRstStream, 3, kSpdyCancel);
  for (const char c : bytes) ASSERT_TRUE(reader.Feed({&c, 1}));
  EXPECT_EQ(seen, "c6/0/4 d3a d3b d3! c3/0/8 ");
}

TEST(SpdyFramesTest, WhatIsNoSpdyIsRefused) {
  SpdyReader other({.control = [](auto, auto, auto) {}, .data = [](auto, auto, auto) {}});
  EXPECT_FALSE(other.Feed(std::string("\x80\x02\0\x01\0\0\0\0", 8)));  // SPDY/2
  SpdyReader large({.control = [](auto, auto, auto) {}, .data = [](auto, auto, auto) {}});
  EXPECT_FALSE(large.Feed(std::string("\x80\x03\0\x01\0\xff\xff\xff", 8)));
}

// Echoes every stream in capitals of its header "say", then what it was sent.
void ServeEcho(std::shared_ptr<Duplex> connection) {
  SpdySession::Start(SpdySession::Side::kServer, std::move(connection),
                     {.on_stream =
                          [](std::shared_ptr<SpdyStream> stream) {
                            stream->Write(stream->headers().Get("say"));
                            stream->Read([stream](std::string_view data) { stream->Write(data); },
                                         [stream] { stream->End(); });
                          },
                      .on_close = [] {}});
}

Task<void> AcceptSpdyEcho(std::shared_ptr<Request> request, Answer answer) {
  if (request->headers.Get("upgrade") == "websocket") {
    auto socket = answer->AcceptWebSocket("SPDY/3.1+test");
    if (socket) ServeEcho(DuplexOf(*socket));
    co_return;
  }
  auto connection = answer->AcceptUpgrade({{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}});
  if (!connection)
    answer->Send(connection.error().code(), {}, connection.error().message());
  else
    ServeEcho(*connection);
}

struct Talk {
  Mutex mu;
  std::string got FLYBALL_GUARDED_BY(mu);
  Notification<std::string> all;
};

// Opens a stream, sends pieces of `size` bytes, ends; what came back until its end.
std::string Converse(SpdySession& session, int pieces, std::size_t size) {
  auto talk = std::make_shared<Talk>();
  const auto stream = session.Open({{"say", "hi:"}}, [talk](SpdyStream& s) {
    s.Read(
        [talk](std::string_view data) {
          MutexLock lock(talk->mu);
          talk->got.append(data);
        },
        [talk] {
          MutexLock lock(talk->mu);
          talk->all.Set(talk->got);
        });
  });
  for (int i = 0; i < pieces; ++i) stream->Write(std::string(size, static_cast<char>('a' + i % 26)));
  stream->End();
  return talk->all.Wait();
}

class SpdyTest : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, SpdyTest, testing::Values(Wire::kH1, Wire::kH1Tls, Wire::kH2Tls), WireName);

TEST_P(SpdyTest, StreamsOverAnUpgrade) {
  Loopback net(GetParam(), {{"/s", AcceptSpdyEcho}});
  Notification<Result<Upgraded>> opened;
  net.client().OpenUpgrade({.method = "POST", .target = "/s", .headers = {{"upgrade", "SPDY/3.1"}}},
                           [&](Result<Upgraded> result) { opened.Set(std::move(result)); });
  const auto upgraded = opened.Wait();
  ASSERT_TRUE(upgraded) << upgraded.error().ToString();
  EXPECT_EQ(upgraded->headers.Get("upgrade"), "SPDY/3.1");
  auto closed = std::make_shared<Notification<bool>>();
  const auto session =
      SpdySession::Start(SpdySession::Side::kClient, upgraded->stream,
                         {.on_stream = [](auto) {}, .on_close = [closed] { closed->Set(true); }});
  EXPECT_EQ(Converse(*session, 1, 5), "hi:aaaaa");
  EXPECT_EQ(Converse(*session, 0, 0), "hi:");
  EXPECT_EQ(Converse(*session, 40, 100'000).size(), 4'000'003u);
  session->Close();
  EXPECT_TRUE(closed->Wait());
}

TEST_P(SpdyTest, StreamsInsideAWebSocket) {
  Loopback net(GetParam(), {{"/s", AcceptSpdyEcho}});
  Notification<Result<std::shared_ptr<WebSocket>>> opened;
  net.client().OpenWebSocket({.target = "/s"}, {"SPDY/3.1+test"},
                             [&](auto result) { opened.Set(std::move(result)); });
  const auto socket = opened.Wait();
  ASSERT_TRUE(socket) << socket.error().ToString();
  const auto session = SpdySession::Start(SpdySession::Side::kClient, DuplexOf(*socket),
                                          {.on_stream = [](auto) {}, .on_close = [] {}});
  EXPECT_EQ(Converse(*session, 3, 100'000).size(), 300'003u);
  session->Close();
}

// What a connection's callbacks own was kept for ever if the client went while it was open.
TEST_P(SpdyTest, GoesWithTheClientWhoseConnectionItIs) {
  std::weak_ptr<SpdySession> upgraded, tunnelled;
  {
    Loopback net(GetParam(), {{"/s", AcceptSpdyEcho}});
    Notification<Result<Upgraded>> opened;
    net.client().OpenUpgrade({.method = "POST", .target = "/s", .headers = {{"upgrade", "SPDY/3.1"}}},
                             [&](Result<Upgraded> result) { opened.Set(std::move(result)); });
    upgraded = SpdySession::Start(SpdySession::Side::kClient, opened.Wait()->stream,
                                  {.on_stream = [](auto) {}, .on_close = [] {}});
    Notification<Result<std::shared_ptr<WebSocket>>> socket;
    net.client().OpenWebSocket({.target = "/s"}, {"SPDY/3.1+test"},
                               [&](auto result) { socket.Set(std::move(result)); });
    tunnelled = SpdySession::Start(SpdySession::Side::kClient, DuplexOf(*socket.Wait()),
                                   {.on_stream = [](auto) {}, .on_close = [] {}});
  }
  EXPECT_TRUE(upgraded.expired());
  EXPECT_TRUE(tunnelled.expired());
}

TEST_P(SpdyTest, AnOrdinaryRequestIsNoUpgrade) {
  Loopback net(GetParam(), {{"/s", AcceptSpdyEcho}});
  EXPECT_EQ(net.Get("/s")->status, 400);
}

TEST(SpliceTest, JoinsAnUpgradeToATcpServerAndKeepsHalvesApart) {
  // The far end: a plain HTTP server, reached through a connection that has left HTTP.
  Loopback far(Wire::kH1, {{"/far", [](auto, Answer answer) -> Task<void> {
                              answer->Send(200, {}, std::string(2'000'000, 'f'));
                              co_return;
                            }}});
  TcpDialer dialer(10s);
  Loopback near(Wire::kH1Tls,
                {{"/via", [&](auto, Answer answer) -> Task<void> {
                    auto client = answer->AcceptUpgrade({{"connection", "Upgrade"}, {"upgrade", "bytes"}});
                    dialer.Dial("127.0.0.1", far.server().port(),
                                [client = *client](Result<std::shared_ptr<Duplex>> to) {
                                  ASSERT_TRUE(to) << to.error().ToString();
                                  Splice(client, *to);
                                });
                    co_return;
                  }}});
  Notification<Result<Upgraded>> opened;
  near.client().OpenUpgrade({.target = "/via", .headers = {{"upgrade", "bytes"}}},
                            [&](Result<Upgraded> result) { opened.Set(std::move(result)); });
  const auto upgraded = opened.Wait();
  ASSERT_TRUE(upgraded) << upgraded.error().ToString();
  auto talk = std::make_shared<Talk>();
  upgraded->stream->Read(
      [talk](std::string_view data) {
        MutexLock lock(talk->mu);
        talk->got.append(data);
      },
      [talk] {
        MutexLock lock(talk->mu);
        talk->all.Set(talk->got);
      });
  upgraded->stream->Write(MakeBytes("GET /far HTTP/1.1\r\nhost: far\r\nconnection: close\r\n\r\n"));
  const std::string answer = talk->all.Wait();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 2'000'000u);
  upgraded->stream->End();
}

TEST(TcpDialerTest, NobodyListeningIsAnError) {
  TcpDialer dialer(10s);
  Notification<bool> failed;
  dialer.Dial("127.0.0.1", 1, [&](Result<std::shared_ptr<Duplex>> to) { failed.Set(!to); });
  EXPECT_TRUE(failed.Wait());
}

}  // namespace
}  // namespace flyball::net
