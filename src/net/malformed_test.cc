// Input that no honest client sends: whatever it is, the server answers or closes, and serves the next
// request.
#include <nghttp2/nghttp2.h>

#include <string>
#include <vector>

#include "net/testing/loopback_fixture.h"
#include "net/testing/raw_socket.h"

namespace flyball::net {
namespace {

using namespace std::chrono_literals;

Task<void> BodySize(std::shared_ptr<Request> request, Answer answer) {
  answer->Send(200, {}, "size=" + std::to_string(request->body.size()) + " target=" + request->target);
  co_return;
}

class MalformedTest : public testing::Test {
 protected:
  static ServerLimits Limits() {
    ServerLimits limits;
    limits.max_body_bytes = 1000;
    limits.max_header_bytes = 8000;
    limits.head_timeout = 200ms;
    limits.idle_timeout = 200ms;
    return limits;
  }
  RawSocket Connect() { return RawSocket(net_.server().port()); }
  // Everything the server says to these bytes until it closes.
  std::string Answer1(std::string_view bytes) {
    RawSocket socket = Connect();
    socket.Send(bytes);
    return socket.ReadAll();
  }
  void ExpectAlive() { EXPECT_EQ(net_.Get("/size")->status, 200); }

  Loopback net_{Wire::kH1, {{"/size", BodySize}, {"/a", BodySize}, {"/b", BodySize}}, Limits()};
};

TEST_F(MalformedTest, BadRequestsGet400AndTheConnectionEnds) {
  const std::vector<std::string> bad = {
      "\x16\x03\x01 TLS to a plain port\r\n\r\n",
      "GET\r\n\r\n",
      "GET /a\r\n\r\n",
      "GET /a HTTP/9.9\r\nHost: x\r\n\r\n",
      "GET  /a HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET a HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: x\r\n\r\n",
      "G\x01T /a HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /a HTTP/1.1\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost : x\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: x\r\n no name\r\n\r\n: y\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: x\r\nA\x01: y\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: x\r\nA: y\x01\r\n\r\n",
      "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
  };
  for (const auto& bytes : bad) {
    const std::string answer = Answer1(bytes);
    EXPECT_EQ(answer.substr(0, 24), "HTTP/1.1 400 Bad Request") << bytes << "\n" << answer;
  }
  ExpectAlive();
}

TEST_F(MalformedTest, SmuggledRequestsAreRefusedWhole) {
  const std::string next = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::vector<std::string> heads = {
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length: 5, 5\r\n",
      "Content-Length: +5\r\n",
      "Content-Length: -1\r\n",
      "Content-Length: 0x5\r\n",
      "Content-Length: 5 5\r\n",
      "Content-Length:\r\n",
      "Content-Length: 99999999999999999999999\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: chunked, identity\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding : chunked\r\n",
  };
  for (const auto& head : heads) {
    const std::string answer = Answer1("POST /a HTTP/1.1\r\nHost: x\r\n" + head + "\r\n0\r\n\r\n" + next);
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400") << head << answer;
    EXPECT_EQ(answer.find("target=/b"), std::string::npos) << head << answer;
  }
  for (const char* chunks :
       {"x\r\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "5hello", "-5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n", "5\nhello\n0\n\n"}) {
    const std::string answer = Answer1(
        std::string("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n") + chunks + next);
    EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos) << chunks << answer;
  }
  ExpectAlive();
}

TEST_F(MalformedTest, WhatIsOddButAllowedWorks) {
  const std::string end = "Connection: close\r\n\r\n";
  EXPECT_NE(Answer1("GET http://x:80/a?q=1 HTTP/1.1\r\nHost: x\r\n" + end).find("target=/a?q=1"),
            std::string::npos);
  EXPECT_NE(Answer1("\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n" + end).find("200 OK"), std::string::npos);
  EXPECT_NE(Answer1("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n" + end +
                    "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n")
                .find("size=11"),
            std::string::npos);
  EXPECT_NE(Answer1("GET /a HTTP/1.0\r\n\r\n").find("200 OK"), std::string::npos);
}

TEST_F(MalformedTest, PipelinedRequestsAreAnsweredInOrder) {
  std::string all;
  for (int i = 0; i < 100; ++i) all += "GET /a?" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  all += "GET /a?last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answer = Answer1(all);
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answer.find("target=/a?" + std::to_string(i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(answer.find("target=/a?last", at), std::string::npos);
}

TEST_F(MalformedTest, ExpectContinueIsAnsweredBeforeTheBody) {
  RawSocket socket = Connect();
  socket.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(socket.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.Send("hello");
  EXPECT_NE(socket.ReadUntil("size=5").find("200 OK"), std::string::npos);

  RawSocket too_large = Connect();
  too_large.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(too_large.ReadAll().substr(0, 12), "HTTP/1.1 413");
}

TEST_F(MalformedTest, EndlessHeadsAndBodiesAreCutOff) {
  EXPECT_EQ(Answer1("GET /" + std::string(20000, 'a')).substr(0, 12), "HTTP/1.1 431");
  std::string many = "GET /a HTTP/1.1\r\nHost: x\r\n";
  while (many.size() < 20000) many += "A: b\r\n";
  EXPECT_EQ(Answer1(many).substr(0, 12), "HTTP/1.1 431");

  RawSocket socket = Connect();
  socket.Send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (socket.Send("64\r\n" + std::string(100, 'x') + "\r\n"))
    if (recv(socket.fd(), nullptr, 0, MSG_DONTWAIT) == 0) break;
  ExpectAlive();
}

// The part of a chunked body that is not data is bounded too, before anybody has authenticated.
TEST_F(MalformedTest, EndlessChunkExtensionsAndTrailersAreRefused) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string trailers = head + "0\r\n";
  while (trailers.size() < 20'000) trailers += "A: b\r\n";
  std::string padding = head;
  while (padding.size() < 20'000) padding += "1;" + std::string(1000, 'x') + "\r\ny\r\n";
  for (const auto& bytes : {head + "5;" + std::string(20'000, 'x'), trailers, padding,
                            head + "0\r\nA: " + std::string(20'000, 'x')}) {
    const std::string answer = Answer1(bytes);
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400") << bytes.substr(0, 100) << "\n" << answer;
  }
  ExpectAlive();
}

TEST_F(MalformedTest, ManySmallChunksWithSmallExtensionsWork) {
  std::string request = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 500; ++i) request += "1;n=" + std::to_string(i) + "\r\nx\r\n";
  EXPECT_EQ(Answer1(request + "0\r\nA: b\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
}

TEST_F(MalformedTest, SlowHeadsAreCutOff) {
  const std::string head = "GET /a HTTP/1.1\r\nHost: x\r\nX-Slow: ";
  RawSocket slow = Connect(), silent = Connect(), body = Connect();
  body.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  bool open = slow.Send(head);
  char byte;
  while (open) {
    open = slow.Send("x");
    SleepFor(5ms);
    open = open && recv(slow.fd(), &byte, 1, MSG_DONTWAIT) != 0;
  }
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(body.ReadAll(), "");
  ExpectAlive();
}

TEST_F(MalformedTest, AHalfClosedClientStillGetsItsAnswer) {
  RawSocket socket = Connect();
  socket.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.EndSending();
  EXPECT_NE(socket.ReadAll().find("200 OK"), std::string::npos);
}

TEST(BodyBudgetTest, SlowUploadsShareABoundedMemory) {
  ServerLimits limits;
  limits.max_buffered_bytes = 5000;
  for (const Wire wire : {Wire::kH1, Wire::kH2}) {
    Loopback net(wire, {{"/size", BodySize}}, limits);
    RawSocket slow(net.server().port());
    slow.Send("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n" + std::string(4000, 'x'));
    Result<Response> response = net.Get("/size");
    // Until the slow one's bytes have arrived the other still fits.
    do response = net.Send({.method = "POST", .target = "/size", .body = std::string(2000, 'x')});
    while (response->status == 200);
    EXPECT_EQ(response->status, 429);
    EXPECT_NE(response->body.find("TooManyRequests"), std::string::npos);
    EXPECT_EQ(net.Send({.method = "POST", .target = "/size", .body = std::string(500, 'x')})->status, 200);
    slow.Close();
    do response = net.Send({.method = "POST", .target = "/size", .body = std::string(2000, 'x')});
    while (response->status == 429);
    EXPECT_EQ(response->status, 200);
  }
}

class MalformedTlsTest : public testing::Test {
 protected:
  static ServerLimits Limits() {
    ServerLimits limits;
    limits.head_timeout = 100ms;
    return limits;
  }
  Loopback net_{Wire::kH2Tls, {{"/size", BodySize}}, Limits()};
};

TEST_F(MalformedTlsTest, BrokenHandshakesHurtNobody) {
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (std::size_t n = 0; n <= hello.size(); ++n) {
    RawSocket socket(net_.server().port());
    socket.Send(hello.substr(0, n));
  }
  for (const std::string& junk :
       {std::string(100000, '\xff'), std::string(100000, '\0'), hello + std::string(600, '\0'),
        std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("\x15\x03\x01\0\x02\x02\x28", 7)}) {
    RawSocket socket(net_.server().port());
    socket.Send(junk);
    socket.EndSending();
    socket.ReadAll();
  }
  RawSocket stuck(net_.server().port());
  stuck.Send(hello);
  EXPECT_EQ(stuck.ReadAll(), "");  // the handshake's time-out
  EXPECT_EQ(net_.Get("/size")->status, 200);
}

// HTTP/2 frames by hand.
std::string FrameBytes(int type, int flags, std::uint32_t stream, std::string_view payload) {
  std::string out;
  for (int shift : {16, 8, 0}) out += static_cast<char>(payload.size() >> shift);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  for (int shift : {24, 16, 8, 0}) out += static_cast<char>(stream >> shift);
  return out.append(payload);
}
constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kWindow = 8, kContinue = 9;
constexpr int kEndStream = 1, kEndHeaders = 4;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// GET http / with authority x.
const std::string kGet = "\x82\x86\x84\x41\x01x";

class MalformedH2Test : public testing::Test {
 protected:
  static ServerLimits Limits() {
    ServerLimits limits;
    limits.max_header_bytes = 8000;
    limits.max_body_bytes = 100000;
    limits.head_timeout = 300ms;
    limits.idle_timeout = 300ms;
    limits.write_timeout = 300ms;
    return limits;
  }
  RawSocket Connect() {
    RawSocket socket(net_.server().port());
    socket.Send(kPreface + FrameBytes(kSettings, 0, 0, ""));
    return socket;
  }
  void ExpectAlive() {
    const auto response = net_.Get("/size");
    ASSERT_TRUE(response) << response.error().ToString();
    EXPECT_EQ(response->status, 200);
  }
  Loopback net_{Wire::kH2, {{"/size", BodySize}, {"/", BodySize}}, Limits()};
};

TEST_F(MalformedH2Test, BadFramesEndTheConnection) {
  const std::vector<std::string> bad = {
      FrameBytes(kData, 0, 0, "x"),
      FrameBytes(kData, 0, 1, "x"),
      FrameBytes(kHeaders, kEndHeaders | kEndStream, 0, kGet),
      FrameBytes(kHeaders, kEndHeaders | kEndStream, 2, kGet),
      FrameBytes(kHeaders, kEndHeaders | kEndStream, 1, "\xff\xff\xff\xff\xff\xff\xff"),
      FrameBytes(kHeaders, kEndHeaders | kEndStream, 1, "\xbf"),
      FrameBytes(kContinue, kEndHeaders, 1, kGet),
      FrameBytes(kHeaders, 0, 1, kGet) + FrameBytes(kPing, 0, 0, "12345678"),
      FrameBytes(kSettings, 0, 1, ""),
      FrameBytes(kSettings, 0, 0, "short"),
      FrameBytes(kSettings, 1, 0, "ack with payload"),
      FrameBytes(kPing, 0, 0, "short"),
      FrameBytes(kWindow, 0, 0, std::string(4, '\0')),
      FrameBytes(kWindow, 0, 0, "\x7f\xff\xff\xff") + FrameBytes(kWindow, 0, 0, "\x7f\xff\xff\xff"),
      FrameBytes(kReset, 0, 1, std::string(4, '\0')),
      FrameBytes(kData, 0, 1, std::string(20000, 'x')),
      FrameBytes(5, 0, 1, std::string(4, '\0') + kGet),
      std::string(1000, '\xff'),
  };
  for (const auto& bytes : bad) {
    RawSocket socket = Connect();
    socket.Send(bytes);
    socket.ReadAll();  // comes back only when the server closes
  }
  RawSocket preface(net_.server().port());
  preface.Send("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
  EXPECT_EQ(preface.ReadAll().substr(0, 12), "HTTP/1.1 400");
  ExpectAlive();
}

TEST_F(MalformedH2Test, BadRequestsEndTheirStreamOnly) {
  const std::vector<std::string> bad = {
      "\x82\x86\x41\x01x",  // no path
      "\x86\x84\x41\x01x",  // no method
      kGet + "\x82",        // pseudo-header again
      kGet + std::string("\0\x01"
                         "A\x01"
                         "b",
                         5),  // upper case name
      kGet + std::string("\0\x0a"
                         "connection\x05"
                         "close",
                         18),
      kGet + std::string("\0\x01"
                         "a\x03"
                         "b\r\n",
                         7),
      std::string("\x82\x86\x44\x01*\x41\x01x", 8),  // path "*"
  };
  for (const auto& block : bad) {
    RawSocket socket = Connect();
    socket.Send(FrameBytes(kHeaders, kEndHeaders | kEndStream, 1, block) +
                FrameBytes(kHeaders, kEndHeaders | kEndStream, 3, kGet));
    EXPECT_NE(socket.ReadUntil("target=/").find("size=0 target=/"), std::string::npos) << block;
  }
}

TEST_F(MalformedH2Test, ABodyLongerOrShorterThanItsLengthIsReset) {
  const std::string post = "\x83\x86\x84\x41\x01x" + std::string(
                                                         "\x0f\x0d\x01"
                                                         "3",
                                                         4);  // content-length: 3
  for (const char* body : {"longer", "x"}) {
    RawSocket socket = Connect();
    socket.Send(FrameBytes(kHeaders, kEndHeaders, 1, post) + FrameBytes(kData, kEndStream, 1, body));
    socket.Send(FrameBytes(kHeaders, kEndHeaders | kEndStream, 3, kGet));
    EXPECT_NE(socket.ReadUntil("target=/").find("size=0"), std::string::npos);
  }
}

TEST_F(MalformedH2Test, HpackBombIsCutOff) {
  RawSocket socket = Connect();
  // One entry of 3,900 bytes in the dynamic table, then thousands of one-byte references to it.
  std::string block = kGet +
                      std::string(
                          "\x40\x01"
                          "a",
                          3) +
                      "\x7f" + "\xbd\x1d" + std::string(3900, 'v');
  const std::string bomb(16000, '\xbe');
  socket.Send(FrameBytes(kHeaders, kEndHeaders | kEndStream, 1, block));
  for (std::uint32_t id = 3; id < 60; id += 2)
    if (!socket.Send(FrameBytes(kHeaders, kEndHeaders | kEndStream, id, kGet + bomb))) break;
  const std::string answer = socket.ReadAll();
  EXPECT_LT(answer.size(), 100000u);
  ExpectAlive();
}

TEST_F(MalformedH2Test, EndlessContinuationsAreCutOff) {
  RawSocket socket = Connect();
  socket.Send(FrameBytes(kHeaders, 0, 1, kGet));
  const std::string more = FrameBytes(kContinue, 0, 1,
                                      std::string("\0\x01"
                                                  "a\x01"
                                                  "b",
                                                  5));
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += more;
  for (int i = 0; i < 100 && socket.Send(flood); ++i) {
  }
  socket.ReadAll();
  ExpectAlive();
}

TEST_F(MalformedH2Test, RapidResetIsBounded) {
  RawSocket socket = Connect();
  bool open = true;
  for (std::uint32_t id = 1; id < 200'000 && open; id += 200) {
    std::string flood;
    for (std::uint32_t i = id; i < id + 200; i += 2)
      flood += FrameBytes(kHeaders, kEndHeaders | kEndStream, i, kGet) +
               FrameBytes(kReset, 0, i, std::string("\0\0\0\x08", 4));
    open = socket.Send(flood);
  }
  EXPECT_FALSE(open && socket.Send(kPreface) && socket.ReadAll().empty());
  ExpectAlive();
}

TEST_F(MalformedH2Test, FloodsOfControlFramesAreBounded) {
  for (const std::string& frame : {FrameBytes(kPing, 0, 0, "12345678"), FrameBytes(kSettings, 0, 0, ""),
                                   FrameBytes(kSettings, 0, 0, std::string("\0\x04\0\0\x10\0", 6))}) {
    RawSocket socket = Connect();
    std::string flood;
    for (int i = 0; i < 1000; ++i) flood += frame;
    // Never reads: the acknowledgements pile up until the server has had enough.
    int sent = 0;
    while (sent < 5000 && socket.Send(flood)) ++sent;
    EXPECT_LT(sent, 5000);
  }
  ExpectAlive();
}

TEST_F(MalformedH2Test, StalledStreamsAreReset) {
  RawSocket socket = Connect();
  // A request that never completes.
  socket.Send(FrameBytes(kHeaders, kEndHeaders, 1, "\x83\x86\x84\x41\x01x") +
              FrameBytes(kData, 0, 1, "some"));
  const std::string answer = socket.ReadAll();
  EXPECT_NE(answer.find(FrameBytes(kReset, 0, 1, std::string("\0\0\0\x08", 4))), std::string::npos);
  ExpectAlive();
}

TEST_F(MalformedH2Test, TooManyStreamsAreRefused) {
  ServerLimits limits = Limits();
  limits.max_streams_per_connection = 4;
  Loopback net(Wire::kH2,
               {{"/",
                 [](auto, Answer answer) -> Task<void> {
                   answer->Begin(200, {});
                   co_await Callback<bool>(answer->executor(), [&](UniqueFunction<void(bool)> done) {
                     answer->OnClose([d = std::move(done)] { d(true); });
                   });
                 }}},
               limits);
  RawSocket socket(net.server().port());
  std::string all = kPreface + FrameBytes(kSettings, 0, 0, "");
  for (std::uint32_t id = 1; id < 200; id += 2)
    all += FrameBytes(kHeaders, kEndHeaders | kEndStream, id, kGet);
  socket.Send(all);
  const std::string refused = FrameBytes(kReset, 0, 199, std::string("\0\0\0\x07", 4));
  EXPECT_NE(socket.ReadUntil(refused).find(refused), std::string::npos);
}

// Within one call nghttp2 emits all that the windows allow.
TEST_F(MalformedH2Test, WideWindowsAndNoReadingFillNoBuffer) {
  constexpr std::size_t kOwed = 64u << 20;
  Notification<Answer> begun;
  Loopback net(Wire::kH2, {{"/",
                            [&](auto, Answer answer) -> Task<void> {
                              answer->Begin(200, {});
                              const Bytes chunk = MakeBytes(std::string(1u << 20, 'x'));
                              for (std::size_t i = 0; i < kOwed; i += chunk->size()) answer->Write(chunk);
                              begun.Set(answer);
                              co_return;
                            }},
                           {"/small", [](auto, Answer answer) -> Task<void> {
                              answer->Send(200, {}, "ok");
                              co_return;
                            }}});
  RawSocket socket(net.server().port());
  socket.Send(kPreface + FrameBytes(kSettings, 0, 0, std::string("\0\x04\x7f\xff\xff\xff", 6)) +
              FrameBytes(kWindow, 0, 0, std::string("\x7f\xff\0\0", 4)) +
              FrameBytes(kHeaders, kEndHeaders | kEndStream, 1, kGet));
  const Answer answer = begun.Wait();
  // By the time others have been answered again and again, this one has been sent what its socket takes.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(net.Get("/small")->status, 200);
  EXPECT_GT(answer->pending_bytes(), kOwed / 2);
}

}  // namespace
}  // namespace flyball::net
