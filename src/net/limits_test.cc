// What bounds a client that is slow, greedy or odd, and what it may ask for beyond the ordinary.
#include <zlib.h>

#include <string>
#include <vector>

#include "net/http/unpacking_transport.h"
#include "net/testing/loopback_fixture.h"
#include "net/testing/raw_socket.h"

namespace flyball::net {
namespace {

using namespace std::chrono_literals;

Task<void> Size(std::shared_ptr<Request> request, Answer answer) {
  answer->Send(200, {}, std::to_string(request->body.size()));
  co_return;
}

std::string Gunzip(const std::string& data) {
  z_stream z{};
  inflateInit2(&z, 15 + 16);
  std::string out(8u << 20, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  inflateEnd(&z);
  return result == Z_STREAM_END ? out : "corrupt";
}

class EveryWireTest : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, EveryWireTest,
                         testing::Values(Wire::kH1, Wire::kH2, Wire::kH1Tls, Wire::kH2Tls), WireName);

class TlsTest : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, TlsTest, testing::Values(Wire::kH1Tls, Wire::kH2Tls), WireName);

TEST_P(EveryWireTest, LargeAnswersAreGzippedWhenAskedFor) {
  std::string body;
  for (int i = 0; body.size() < 4'000'000; ++i)
    body += "{\"metadata\":{\"name\":\"pod-" + std::to_string(i) + "\"}},";
  Loopback net(GetParam(), {{"/big",
                             [&](auto, Answer answer) -> Task<void> {
                               answer->Send(200, {{"content-type", "application/json"}}, body);
                               co_return;
                             }},
                            {"/small", [](auto, Answer answer) -> Task<void> {
                               answer->Send(200, {}, "small");
                               co_return;
                             }}});
  const auto zipped = net.Get("/big", {{"accept-encoding", "deflate, gzip"}});
  ASSERT_TRUE(zipped);
  EXPECT_EQ(zipped->headers.Get("content-encoding"), "gzip");
  EXPECT_EQ(zipped->headers.Get("vary"), "Accept-Encoding");
  EXPECT_LT(zipped->body.size(), body.size() / 4);
  EXPECT_TRUE(Gunzip(zipped->body) == body);

  const auto plain = net.Get("/big");
  EXPECT_FALSE(plain->headers.Has("content-encoding"));
  EXPECT_TRUE(plain->body == body);
  EXPECT_FALSE(net.Get("/small", {{"accept-encoding", "gzip"}})->headers.Has("content-encoding"));
  const auto head = net.Send({.method = "HEAD", .target = "/big", .headers = {{"accept-encoding", "gzip"}}});
  EXPECT_EQ(head->headers.Get("content-length"), std::to_string(body.size()));
}

// Pieces of every size, sent as the connection takes them.
TEST_P(EveryWireTest, StreamedAnswersAreGzippedWhenAskedFor) {
  std::vector<Bytes> pieces;
  std::string body;
  for (int i = 0; i < 300; ++i) {
    std::string piece;
    for (int j = 0; j < i * i % 1000; ++j) piece += "pod-" + std::to_string(i * j) + ",";
    body += piece;
    pieces.push_back(MakeBytes(std::move(piece)));
  }
  Loopback net(GetParam(), {{"/list", [&](auto, Answer answer) -> Task<void> {
                               answer->BeginCompressible(200, {{"content-type", "application/json"}});
                               for (const auto& piece : pieces) {
                                 answer->Write(piece);
                                 if (answer->pending_bytes() < 10000) continue;
                                 auto start = [&](UniqueFunction<void(bool)> done) {
                                   answer->OnDrained(1000, [done = std::move(done)] { done(true); });
                                 };
                                 auto drained = Callback<bool>(answer->executor(), std::move(start));
                                 co_await drained;
                               }
                               answer->End();
                             }}});
  const auto zipped = net.Get("/list", {{"accept-encoding", "gzip"}});
  ASSERT_TRUE(zipped);
  EXPECT_EQ(zipped->headers.Get("content-encoding"), "gzip");
  EXPECT_LT(zipped->body.size(), body.size() / 2);
  EXPECT_TRUE(Gunzip(zipped->body) == body);
  const auto unpacking =
      NewUnpackingTransport(std::shared_ptr<Transport>(std::shared_ptr<void>(), &net.client()));
  const auto unpacked = net.Send(*unpacking, {.target = "/list"});
  ASSERT_TRUE(unpacked);
  EXPECT_FALSE(unpacked->headers.Has("content-encoding"));
  EXPECT_TRUE(unpacked->body == body);
  const auto plain = net.Get("/list");
  EXPECT_FALSE(plain->headers.Has("content-encoding"));
  EXPECT_TRUE(plain->body == body);
}

TEST_P(EveryWireTest, IdleConnectionsAreClosed) {
  ServerLimits limits;
  limits.idle_timeout = 30ms;
  Loopback net(GetParam(), {{"/size", Size}}, limits);
  EXPECT_EQ(net.Get("/size")->status, 200);
  while (net.server().open_connections() > 0) SleepFor(1ms);
  EXPECT_EQ(net.Get("/size")->status, 200);
}

TEST_P(EveryWireTest, ASlowReaderIsGivenUp) {
  ServerLimits limits;
  limits.write_timeout = 50ms;
  auto gone = std::make_shared<Notification<bool>>();
  Loopback net(GetParam(),
               {{"/flood",
                 [gone](auto, Answer answer) -> Task<void> {
                   answer->Begin(200, {});
                   answer->Write(MakeBytes(std::string(64u << 20, 'x')));
                   co_await Callback<bool>(answer->executor(), [&](UniqueFunction<void(bool)> done) {
                     answer->OnClose([d = std::move(done)] { d(true); });
                   });
                   gone->Set(true);
                 }}},
               limits);
  auto sink = std::make_shared<RecordingSink>();
  auto call = net.client().Start({.target = "/flood"}, sink);
  sink->WaitFor([](const auto& s) { return s.status == 200; });
  call->Pause();
  EXPECT_TRUE(gone->Wait());
  call->Cancel();
}

TEST_P(TlsTest, ClientCertificatesIdentify) {
  Loopback net(GetParam(), {{"/who", [](std::shared_ptr<Request> request, Answer answer) -> Task<void> {
                               const Peer& peer = request->peer;
                               std::string text = peer.verified ? "verified " : "unverified ";
                               text += peer.common_name + " ";
                               for (const auto& group : peer.organizations) text += group + ",";
                               text += peer.certificate_sha256.empty() ? " no certificate" : " certificate";
                               answer->Send(200, {}, text);
                               co_return;
                             }}});
  const auto who = [&](const KeyPair& pair) {
    auto options = net.Options();
    options.tls.certificate_pem = pair.certificate_pem;
    options.tls.private_key_pem = pair.private_key_pem;
    auto client = NewHttpClient(options);
    return net.Send(**client, {.target = "/who"})->body;
  };
  const auto& certificates = TestCertificates::Get();
  EXPECT_EQ(net.Get("/who")->body, "unverified   no certificate");
  EXPECT_EQ(who(certificates.client), "verified alice system:masters,devs, certificate");
  EXPECT_EQ(who(certificates.stranger), "unverified   certificate");
  EXPECT_EQ(who(certificates.server), "unverified   certificate")
      << "a server's certificate is none for clients";
}

TEST_P(TlsTest, ServersMustBeTrustedAndNamedRight) {
  Loopback net(GetParam(), {{"/size", Size}});
  auto options = net.Options();
  options.tls.ca_pem = TestCertificates::Get().stranger.certificate_pem;
  const auto distrusted = net.Send(**NewHttpClient(options), {.target = "/size"});
  ASSERT_FALSE(distrusted);
  EXPECT_NE(distrusted.error().message().find("certificate"), std::string::npos)
      << distrusted.error().message();

  options = net.Options();
  options.tls.server_name = "elsewhere.example";
  EXPECT_FALSE(net.Send(**NewHttpClient(options), {.target = "/size"}));
  options.tls.server_name = "localhost";
  EXPECT_TRUE(net.Send(**NewHttpClient(options), {.target = "/size"}));
  options.tls.server_name = "elsewhere.example";
  options.tls.insecure_skip_verify = true;
  EXPECT_TRUE(net.Send(**NewHttpClient(options), {.target = "/size"}));
}

TEST_P(EveryWireTest, NamesAreLookedUpAndPrefixesKept) {
  Loopback net(GetParam(), {{"/prefix/size", Size}});
  auto options = net.Options();
  options.url.replace(options.url.find("127.0.0.1"), 9, "localhost");
  options.url += "/prefix/";
  const auto response = net.Send(**NewHttpClient(options), {.target = "/size"});
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_EQ(response->status, 200);
}

TEST_P(EveryWireTest, ThroughAProxy) {
  Loopback net(GetParam(), {{"/size", Size}});
  ConnectProxy proxy(net.server().port());
  auto options = net.Options();
  options.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  auto client = NewHttpClient(options);
  const auto response = net.Send(**client, {.target = "/size"});
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_NE(proxy.request().find("CONNECT 127.0.0.1:" + std::to_string(net.server().port()) + " HTTP/1.1"),
            std::string::npos);
}

TEST(LimitsTest, TooManyConnectionsAreTurnedAway) {
  ServerLimits limits;
  limits.max_connections = 3;
  Loopback net(Wire::kH1, {{"/size", Size}}, limits);
  std::vector<RawSocket> kept;
  for (int i = 0; i < 3; ++i) {
    kept.emplace_back(net.server().port());
    kept.back().Send("GET /size HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(kept.back().ReadUntil("\r\n\r\n0").find("200 OK"), std::string::npos);
  }
  RawSocket refused(net.server().port());
  EXPECT_EQ(refused.ReadAll(), "");
  kept.clear();
  while (net.server().open_connections() > 0) SleepFor(1ms);
  EXPECT_EQ(net.Get("/size")->status, 200);
}

}  // namespace
}  // namespace flyball::net
