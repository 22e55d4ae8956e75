// What our client and our server promise each other, over every wire.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "net/testing/loopback_fixture.h"

namespace flyball::net {
namespace {

using namespace std::chrono_literals;

Task<void> Echo(std::shared_ptr<Request> request, Answer answer) {
  Headers headers{
      {"content-type", "text/plain"}, {"x-method", request->method}, {"x-target", request->target}};
  for (const auto value : request->headers.GetAll("x-many")) headers.Add("x-many", std::string(value));
  answer->Send(200, std::move(headers), request->body);
  co_return;
}

class ClientServerTest : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, ClientServerTest,
                         testing::Values(Wire::kH1, Wire::kH2, Wire::kH1Tls, Wire::kH2Tls), WireName);

TEST_P(ClientServerTest, RequestAndAnswerArriveWhole) {
  Loopback net(GetParam(), {{"/echo", Echo}});
  const auto response = net.Send({.method = "POST",
                                  .target = "/echo?a=%20b&c",
                                  .headers = {{"x-many", "1"}, {"x-many", "2"}},
                                  .body = "hello"});
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.Get("x-method"), "POST");
  EXPECT_EQ(response->headers.Get("x-target"), "/echo?a=%20b&c");
  EXPECT_EQ(response->headers.GetAll("x-many"), (std::vector<std::string_view>{"1", "2"}));
  EXPECT_EQ(response->headers.Get("content-length"), "5");
  EXPECT_FALSE(response->headers.Get("date").empty());
}

TEST_P(ClientServerTest, TargetsArePassedUntouched) {
  Loopback net(GetParam(), {{"/a/../../etc/passwd", Echo}, {"/%2e%2e/%2F", Echo}, {"//x", Echo}});
  for (const char* target : {"/a/../../etc/passwd", "/%2e%2e/%2F?q=%zz", "//x"})
    EXPECT_EQ(net.Get(target)->headers.Get("x-target"), target);
}

TEST_P(ClientServerTest, EveryMethodAndStatus) {
  Loopback net(GetParam(), {{"/echo", Echo}, {"/none", [](auto, Answer answer) -> Task<void> {
                                                answer->Send(204, {}, "");
                                                co_return;
                                              }}});
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
    EXPECT_EQ(net.Send({.method = method, .target = "/echo"})->headers.Get("x-method"), method);
  const auto head = net.Send({.method = "HEAD", .target = "/echo", .body = ""});
  ASSERT_TRUE(head) << head.error().ToString();
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(net.Get("/none")->status, 204);
  EXPECT_EQ(net.Get("/absent")->status, 404);
}

TEST_P(ClientServerTest, LargeBodiesBothWays) {
  Loopback net(GetParam(), {{"/echo", Echo}});
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i) + " ";
  const auto response = net.Send({.method = "PUT", .target = "/echo", .body = body});
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_TRUE(response->body == body);
}

TEST_P(ClientServerTest, ManyRequestsFromManyThreads) {
  Loopback net(GetParam(), {{"/echo", Echo}});
  std::atomic<int> good{0};
  std::vector<Thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back("caller", [&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t * 1000 + i);
        const auto response = net.Send({.method = "POST", .target = "/echo", .body = body});
        if (response && response->body == body) ++good;
      }
    });
  threads.clear();
  EXPECT_EQ(good, 400);
}

TEST_P(ClientServerTest, StreamedAnswerArrivesAsItIsWritten) {
  Notification<bool> first_seen;
  Loopback net(GetParam(),
               {{"/stream", [&](auto, Answer answer) -> Task<void> {
                   answer->Begin(200, {{"content-type", "application/json"}});
                   answer->Write(MakeBytes("one\n"));
                   co_await Callback<bool>(answer->executor(), [&](UniqueFunction<void(bool)> done) {
                     net.timers().Post([&first_seen, d = std::move(done)] { d(first_seen.Wait()); });
                   });
                   answer->Write(MakeBytes("two\n"));
                   answer->End();
                 }}});
  auto sink = std::make_shared<RecordingSink>();
  net.client().Start({.target = "/stream"}, sink);
  const auto begun = sink->WaitFor([](const auto& s) { return s.body == "one\n" || s.over(); });
  EXPECT_EQ(begun.status, 200);
  EXPECT_FALSE(begun.over());
  first_seen.Set(true);
  const auto all = sink->WaitForEnd();
  EXPECT_TRUE(all.ended);
  EXPECT_EQ(all.body, "one\ntwo\n");
}

TEST_P(ClientServerTest, BackPressureStopsAPausedReaderAndResumes) {
  constexpr std::size_t kTotal = 64u << 20;
  std::atomic<std::size_t> pending{0};
  Loopback net(GetParam(), {{"/flood", [&](auto, Answer answer) -> Task<void> {
                               answer->Begin(200, {});
                               const Bytes chunk = MakeBytes(std::string(1 << 20, 'x'));
                               for (std::size_t sent = 0; sent < kTotal; sent += chunk->size())
                                 answer->Write(chunk);
                               pending = answer->pending_bytes();
                               answer->End();
                               co_return;
                             }}});
  auto sink = std::make_shared<RecordingSink>();
  auto call = net.client().Start({.target = "/flood"}, sink);
  call->Pause();
  sink->WaitFor([](const auto& s) { return s.status == 200 || s.over(); });
  // Whatever came before the pause, and one window of kernel or HTTP/2, is far less than everything.
  EXPECT_EQ(net.Get("/absent")->status, 404);
  EXPECT_LT(sink->now().body.size(), kTotal);
  EXPECT_FALSE(sink->now().over());
  call->Resume();
  const auto all = sink->WaitForEnd();
  EXPECT_TRUE(all.ended) << all.error->ToString();
  EXPECT_EQ(all.body.size(), kTotal);
}

TEST_P(ClientServerTest, OnDrainedComesWhenTheReaderHasTakenEnough) {
  Loopback net(GetParam(), {{"/drain", [](auto, Answer answer) -> Task<void> {
                               answer->Begin(200, {});
                               for (int i = 0; i < 20; ++i) {
                                 answer->Write(MakeBytes(std::string(1 << 20, 'x')));
                                 co_await Callback<bool>(
                                     answer->executor(), [&](UniqueFunction<void(bool)> done) {
                                       answer->OnDrained(1000, [d = std::move(done)] { d(true); });
                                     });
                                 if (answer->pending_bytes() > 1000) answer->Write(MakeBytes("too early"));
                               }
                               answer->End();
                             }}});
  EXPECT_EQ(net.Get("/drain")->body.size(), 20u << 20);
}

TEST_P(ClientServerTest, CancelReachesBothSides) {
  auto closed = std::make_shared<Notification<bool>>();
  Loopback net(GetParam(), {{"/watch", [closed](auto, Answer answer) -> Task<void> {
                               answer->Begin(200, {});
                               co_await Callback<bool>(answer->executor(),
                                                       [&](UniqueFunction<void(bool)> done) {
                                                         answer->OnClose([d = std::move(done)] { d(true); });
                                                       });
                               closed->Set(answer->closed() && !answer->Write(MakeBytes("x")));
                             }}});
  auto sink = std::make_shared<RecordingSink>();
  auto call = net.client().Start({.target = "/watch"}, sink);
  sink->WaitFor([](const auto& s) { return s.status == 200; });
  call->Cancel();
  call->Cancel();
  const auto seen = sink->WaitForEnd();
  ASSERT_TRUE(seen.error);
  EXPECT_TRUE(seen.error->Is(Reason::kCancelled));
  EXPECT_TRUE(closed->Wait());
  EXPECT_EQ(net.Get("/absent")->status, 404);
}

// Such an answer and its connection kept each other: a little memory for every watch whose client went away.
TEST_P(ClientServerTest, AnAnswerThatEndsAfterItsConnectionLeavesNothingBehind) {
  auto ended = std::make_shared<Notification<bool>>();
  const std::weak_ptr<Notification<bool>> kept_by_the_server = ended;
  {
    Loopback net(GetParam(), {{"/watch", [ended](auto, Answer answer) -> Task<void> {
                                 answer->Begin(200, {});
                                 co_await Callback<bool>(
                                     answer->executor(), [&](UniqueFunction<void(bool)> done) {
                                       answer->OnClose([d = std::move(done)] { d(true); });
                                     });
                                 for (int i = 0; i < 3; ++i) co_await ResumeOn(answer->executor());
                                 answer->End();
                                 ended->Set(true);
                               }}});
    auto client = std::move(*NewHttpClient(net.Options()));
    auto sink = std::make_shared<RecordingSink>();
    const auto call = client->Start({.target = "/watch"}, sink);
    sink->WaitFor([](const auto& s) { return s.status == 200; });
    client = nullptr;
    EXPECT_TRUE(ended->Wait());
    ended = nullptr;
  }
  EXPECT_TRUE(kept_by_the_server.expired());
}

TEST_P(ClientServerTest, AThrowingHandlerAnswers500AndTheServerLives) {
  Loopback net(GetParam(), {{"/throw",
                             [](auto, Answer) -> Task<void> {
                               throw std::runtime_error("boom");
                               co_return;
                             }},
                            {"/plain", [](auto, Answer) -> Task<void> { throw 42; }},
                            {"/late", [](auto, Answer answer) -> Task<void> {
                               answer->Begin(200, {});
                               throw std::runtime_error("boom");
                               co_return;
                             }}});
  for (const char* path : {"/throw", "/plain"}) {
    const auto response = net.Get(path);
    ASSERT_TRUE(response) << response.error().ToString();
    EXPECT_EQ(response->status, 500);
    EXPECT_NE(response->body.find("\"reason\":\"InternalError\""), std::string::npos);
  }
  EXPECT_FALSE(net.Get("/late"));
  EXPECT_EQ(net.Get("/absent")->status, 404);
}

TEST_P(ClientServerTest, ADroppedStreamIsReset) {
  Loopback net(GetParam(), {{"/drop", [](auto, Answer) -> Task<void> { co_return; }},
                            {"/half", [](auto, Answer answer) -> Task<void> {
                               answer->Begin(200, {});
                               answer->Write(MakeBytes("half"));
                               co_return;
                             }}});
  const auto dropped = net.Send({.method = "POST", .target = "/drop"});
  ASSERT_FALSE(dropped);
  EXPECT_TRUE(dropped.error().Is(Reason::kConnection));
  EXPECT_FALSE(net.Get("/half"));
  EXPECT_EQ(net.Get("/absent")->status, 404);
}

TEST_P(ClientServerTest, TooLargeABodyGets413) {
  ServerLimits limits;
  limits.max_body_bytes = 1000;
  Loopback net(GetParam(), {{"/echo", Echo}}, limits);
  EXPECT_EQ(net.Send({.method = "POST", .target = "/echo", .body = std::string(1000, 'x')})->status, 200);
  const auto refused = net.Send({.method = "POST", .target = "/echo", .body = std::string(1001, 'x')});
  ASSERT_TRUE(refused) << refused.error().ToString();
  EXPECT_EQ(refused->status, 413);
  EXPECT_NE(refused->body.find("\"reason\":\"RequestEntityTooLarge\",\"code\":413"), std::string::npos);
  EXPECT_EQ(net.Send({.method = "POST", .target = "/echo", .body = "x"})->status, 200);
}

TEST_P(ClientServerTest, TooLargeHeadersGet431) {
  ServerLimits limits;
  limits.max_header_bytes = 4000;
  Loopback net(GetParam(), {{"/echo", Echo}}, limits);
  const auto refused = net.Get("/echo", {{"x-big", std::string(6000, 'x')}});
  ASSERT_TRUE(refused) << refused.error().ToString();
  EXPECT_EQ(refused->status, 431);
  EXPECT_EQ(net.Get("/echo", {{"x-big", std::string(2000, 'x')}})->status, 200);
}

TEST_P(ClientServerTest, NobodyListeningIsAConnectionErrorAndTheNextTryConnects) {
  Loopback net(GetParam(), {{"/echo", Echo}});
  auto options = net.Options();
  const int port = net.server().port();
  net.StopServer();
  auto client = NewHttpClient(options);
  const auto failed = net.Send(**client, {.target = "/echo"});
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().Is(Reason::kConnection));

  ServerOptions again;
  again.port = port;
  if (UsesTls(GetParam())) again.tls = &TestCertificates::Get().server_tls;
  auto server = HttpServer::Start(again, Echo);
  ASSERT_TRUE(server) << server.error().ToString();
  EXPECT_TRUE(net.Send(**client, {.target = "/echo"}));
}

TEST_P(ClientServerTest, GracefulShutdownLetsRequestsEndAndTellsStreams) {
  auto begun = std::make_shared<Notification<bool>>();
  Loopback net(GetParam(),
               {{"/watch",
                 [](auto, Answer answer) -> Task<void> {
                   answer->Begin(200, {});
                   co_await Callback<bool>(answer->executor(), [&](UniqueFunction<void(bool)> done) {
                     answer->OnClose([d = std::move(done)] { d(true); });
                   });
                   answer->Write(MakeBytes("bye"));
                   answer->End();
                 }},
                {"/slow", [begun](auto, Answer answer) -> Task<void> {
                   begun->Set(true);
                   co_await Callback<bool>(answer->executor(), [&](UniqueFunction<void(bool)> done) {
                     answer->executor().PostAfter(50ms, [d = std::move(done)] { d(true); });
                   });
                   answer->Send(200, {}, "done");
                 }}});
  auto watch = std::make_shared<RecordingSink>();
  auto slow = std::make_shared<RecordingSink>();
  net.client().Start({.target = "/watch"}, watch);
  net.client().Start({.target = "/slow"}, slow);
  watch->WaitFor([](const auto& s) { return s.status == 200; });
  begun->Wait();
  net.server().Shutdown(10s);
  EXPECT_EQ(watch->WaitForEnd().body, "bye");
  EXPECT_TRUE(watch->now().ended);
  EXPECT_EQ(slow->WaitForEnd().body, "done");
  EXPECT_FALSE(net.Get("/slow"));
}

Task<void> TellConnection(std::shared_ptr<Request> request, Answer answer) {
  answer->Send(200, {}, request->peer.address);
  co_return;
}

TEST_P(ClientServerTest, AConnectionWhoseAnswerSaysCloseIsNotUsedAgain) {
  Loopback net(GetParam(), {{"/who", TellConnection},
                            {"/bye", [](auto request, Answer answer) -> Task<void> {
                               answer->Send(429, {{"connection", "close"}}, request->peer.address);
                               co_return;
                             }}});
  const std::string first = net.Get("/who")->body;
  EXPECT_EQ(net.Get("/who")->body, first);
  EXPECT_EQ(net.Get("/bye")->body, first);
  EXPECT_NE(net.Get("/who")->body, first);
}

TEST_P(ClientServerTest, GoawayChanceSpreadsRequestsOfHttp2OverConnections) {
  ServerOptions options;
  Random random(7);
  options.random = &random;
  options.goaway_chance = 0.2;
  Loopback net(GetParam(), {{"/who", TellConnection}}, options);
  std::set<std::string> connections;
  for (int i = 0; i < 100; ++i) {
    const auto response = net.Get("/who");
    ASSERT_TRUE(response) << response.error().ToString();
    connections.insert(response->body);
  }
  if (UsesH2(GetParam()))
    EXPECT_GT(connections.size(), 5u);
  else
    EXPECT_EQ(connections.size(), 1u);
}

TEST_P(ClientServerTest, AClientMayBeDroppedByItsOwnSink) {
  class LastOwner final : public ResponseSink {
   public:
    void OnHead(int, const Headers&) override {}
    void OnData(std::string_view) override {}
    void OnEnd() override {
      client = nullptr;
      done.Set(true);
    }
    void OnError(const Error&) override { done.Set(false); }
    std::unique_ptr<Transport> client;
    Notification<bool> done;
  };
  Loopback net(GetParam(), {{"/echo", Echo}});
  auto sink = std::make_shared<LastOwner>();
  sink->client = std::move(*NewHttpClient(net.Options()));
  sink->client->Start({.target = "/echo"}, sink);
  EXPECT_TRUE(sink->done.Wait());
}

TEST_P(ClientServerTest, ManyStreamsOpenedAndDropped) {
  auto open = std::make_shared<std::atomic<int>>(0);
  Loopback net(GetParam(), {{"/watch", [open](auto, Answer answer) -> Task<void> {
                               ++*open;
                               answer->Begin(200, {});
                               co_await Callback<bool>(answer->executor(),
                                                       [&](UniqueFunction<void(bool)> done) {
                                                         answer->OnClose([d = std::move(done)] { d(true); });
                                                       });
                               --*open;
                             }}});
  const int total = UsesH2(GetParam()) ? 10'000 : 500;
  const int at_once = 100;
  for (int i = 0; i < total; i += at_once) {
    std::vector<std::shared_ptr<RecordingSink>> sinks;
    std::vector<std::shared_ptr<Call>> calls;
    for (int j = 0; j < at_once; ++j) {
      sinks.push_back(std::make_shared<RecordingSink>());
      calls.push_back(net.client().Start({.target = "/watch"}, sinks.back()));
    }
    for (auto& call : calls) call->Cancel();
    for (auto& sink : sinks) sink->WaitForEnd();
  }
  EXPECT_EQ(net.Get("/absent")->status, 404);
  net.server().Shutdown(5s);
  EXPECT_EQ(*open, 0);
}

}  // namespace
}  // namespace flyball::net
