#include "net/grpc/grpc_channel.h"

#include <gtest/gtest.h>

#include <functional>

#include "net/exchange/upload.h"
#include "net/grpc/grpc_message.h"

namespace flyball::net {
namespace {

struct NoCall final : Call {
  void Cancel() override {}
  void Pause() override {}
  void Resume() override {}
};

// Answers at once, as the test says.
class ScriptedTransport final : public Transport {
 public:
  using Script = std::function<void(TrailerSink& sink)>;
  explicit ScriptedTransport(Script script) : script_(std::move(script)) {}

  std::shared_ptr<Call> Start(Request request, std::shared_ptr<ResponseSink> sink) override {
    asked = std::move(request);
    ++calls;
    if (script_) script_(dynamic_cast<TrailerSink&>(*sink));
    return std::make_shared<NoCall>();
  }
  void OpenWebSocket(Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<WebSocket>>)>) override {}

  Request asked;
  int calls = 0;

 private:
  const Script script_;
};

const Headers kGrpcHead = {{"content-type", "application/grpc"}};

std::string CallWith(ScriptedTransport::Script script, const GrpcCallOptions& options = {}) {
  const GrpcChannel channel(std::make_shared<ScriptedTransport>(std::move(script)));
  const auto answer = channel.Call("/p.S/M", "in", options);
  return answer ? *answer : "(" + answer.error().message() + ")";
}

TEST(GrpcChannelTest, AMessageIsFramedBothWays) {
  auto transport = std::make_shared<ScriptedTransport>([](TrailerSink& sink) {
    sink.OnHead(200, kGrpcHead);
    sink.OnData(std::string_view("\0\0\0\0\3o", 6));
    sink.OnData("ut");
    sink.OnTrailers({{"grpc-status", "0"}});
    sink.OnEnd();
  });
  const GrpcChannel channel(transport);
  EXPECT_EQ(*channel.Call("/p.S/M", "in", {.timeout = std::chrono::seconds(3)}), "out");
  EXPECT_EQ(transport->asked.body, std::string_view("\0\0\0\0\2in", 7));
  EXPECT_EQ(transport->asked.target, "/p.S/M");
  EXPECT_EQ(transport->asked.method, "POST");
  EXPECT_EQ(transport->asked.headers.Get("te"), "trailers");
  EXPECT_EQ(transport->asked.headers.Get("content-type"), "application/grpc");
  EXPECT_EQ(transport->asked.headers.Get("grpc-timeout").back(), 'm');
}

TEST(GrpcChannelTest, AStatusIsAnErrorInTheHeadOrTheTrailers) {
  EXPECT_EQ(CallWith([](TrailerSink& sink) {
              sink.OnHead(200, {{"content-type", "application/grpc"},
                                {"grpc-status", "12"},
                                {"grpc-message", "no%20such%"}});
              sink.OnEnd();
            }),
            "(rpc error: code = Unimplemented desc = no such%)");
  EXPECT_EQ(CallWith([](TrailerSink& sink) {
              sink.OnHead(200, kGrpcHead);
              sink.OnTrailers({{"grpc-status", "99"}, {"grpc-message", "odd"}});
              sink.OnEnd();
            }),
            "(rpc error: code = Code(99) desc = odd)");
}

TEST(GrpcChannelTest, WhatIsNoWholeAnswerIsAnError) {
  EXPECT_EQ(CallWith([](TrailerSink& sink) {
              sink.OnHead(404, {{"content-type", "text/plain"}});
              sink.OnEnd();
            }),
            "(rpc error: code = Unknown desc = unexpected HTTP status code received from server: 404)");
  EXPECT_EQ(CallWith([](TrailerSink& sink) {
              sink.OnHead(200, kGrpcHead);
              sink.OnEnd();
            }),
            "(rpc error: code = Internal desc = server closed the stream without sending trailers)");
  const auto ends_with = [](std::string_view body) {
    return CallWith([body](TrailerSink& sink) {
      sink.OnHead(200, kGrpcHead);
      sink.OnData(body);
      sink.OnTrailers({{"grpc-status", "0"}});
      sink.OnEnd();
    });
  };
  EXPECT_EQ(ends_with(""), "(rpc error: code = Internal desc = the response has no message)");
  EXPECT_EQ(ends_with(std::string_view("\0\0\0\0\2x", 6)),
            "(rpc error: code = Internal desc = the response is not one whole message)");
  EXPECT_EQ(ends_with(std::string_view("\1\0\0\0\1x", 6)),
            "(rpc error: code = Internal desc = the response is compressed)");
  EXPECT_EQ(ends_with(std::string_view("\0\0\x40\0\1x", 6)),
            "(rpc error: code = ResourceExhausted desc = received message larger than max)");
}

TEST(GrpcChannelTest, ACallEndsByItsDeadline) {
  EXPECT_EQ(CallWith(nullptr, {.timeout = std::chrono::milliseconds(20)}),
            "(rpc error: code = DeadlineExceeded desc = context deadline exceeded)");
}

TEST(GrpcChannelTest, WaitsForAServerOnlyIfTold) {
  const auto refuse = [](TrailerSink& sink) { sink.OnError(Error(Reason::kConnection, "refused")); };
  EXPECT_EQ(CallWith(refuse, {.timeout = std::chrono::seconds(5)}),
            "(rpc error: code = Unavailable desc = refused)");
  auto attempts = std::make_shared<int>(0);
  const auto late = [attempts, refuse](TrailerSink& sink) {
    if (++*attempts < 3) return refuse(sink);
    sink.OnHead(200, kGrpcHead);
    sink.OnData(std::string_view("\0\0\0\0\0", 5));
    sink.OnTrailers({{"grpc-status", "0"}});
    sink.OnEnd();
  };
  EXPECT_EQ(CallWith(late, {.timeout = std::chrono::seconds(5), .wait_for_ready = true}), "");
  EXPECT_EQ(*attempts, 3);
}

TEST(GrpcChannelTest, ASocketThatIsNotThereIsSaidSo) {
  const auto channel = GrpcChannel::Make("unix:///nowhere/plugin.sock");
  ASSERT_TRUE(channel);
  const auto answer = (*channel)->Call("/p.S/M", "", {.timeout = std::chrono::seconds(5)});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message(),
            "rpc error: code = Unavailable desc = dial unix /nowhere/plugin.sock: connect: no such file or "
            "directory");
  EXPECT_FALSE(GrpcChannel::Make("unix://relative.sock"));
}

// Keeps what it is told.
struct RecordingStream final : GrpcStreamSink {
  void OnMessage(std::string_view message) override { messages.emplace_back(message); }
  void OnEnd(const Status& status) override { end = status ? "OK" : status.error().message(); }
  std::vector<std::string> messages;
  std::string end;
};

TEST(GrpcStreamTest, MessagesComeWholeHoweverTheyAreCut) {
  const auto sink = std::make_shared<RecordingStream>();
  const GrpcChannel channel(std::make_shared<ScriptedTransport>([](TrailerSink& receiver) {
    receiver.OnHead(200, kGrpcHead);
    const std::string bytes = FramedMessage("one") + FramedMessage("") + FramedMessage("three");
    for (const char c : bytes) receiver.OnData(std::string_view(&c, 1));
    receiver.OnData(bytes);
    receiver.OnTrailers({{"grpc-status", "0"}});
    receiver.OnEnd();
  }));
  const auto stream = channel.Open("/p.S/M", sink);
  EXPECT_EQ(sink->messages, (std::vector<std::string>{"one", "", "three", "one", "", "three"}));
  EXPECT_EQ(sink->end, "OK");
}

TEST(GrpcStreamTest, AMessageThatIsTooLongEndsTheStream) {
  const auto sink = std::make_shared<RecordingStream>();
  const GrpcChannel channel(std::make_shared<ScriptedTransport>([](TrailerSink& receiver) {
                              receiver.OnHead(200, kGrpcHead);
                              receiver.OnData(FramedMessage("four"));
                              receiver.OnData(FramedMessage("fives"));
                              receiver.OnData(FramedMessage("four"));
                            }),
                            {.max_message = 4});
  const auto stream = channel.Open("/p.S/M", sink);
  EXPECT_EQ(sink->messages, std::vector<std::string>{"four"});
  EXPECT_EQ(sink->end, "rpc error: code = ResourceExhausted desc = received message larger than max");
}

TEST(GrpcStreamTest, ABrokenConnectionEndsTheStream) {
  const auto sink = std::make_shared<RecordingStream>();
  const GrpcChannel channel(std::make_shared<ScriptedTransport>(
      [](TrailerSink& receiver) { receiver.OnError(Error(Reason::kConnection, "broken")); }));
  const auto stream = channel.Open("/p.S/M", sink);
  EXPECT_EQ(sink->end, "rpc error: code = Unavailable desc = broken");
}

TEST(GrpcChannelTest, SaysWhetherTheServerMayHaveSeenTheCall) {
  const auto sent = [](ScriptedTransport::Script script) {
    const GrpcChannel channel(std::make_shared<ScriptedTransport>(std::move(script)));
    bool answer = false;
    channel.Start("/p.S/M", "", std::chrono::seconds(5), [&](GrpcAnswer a) { answer = a.sent; });
    return answer;
  };
  EXPECT_FALSE(sent([](TrailerSink& sink) { sink.OnError(Error(Reason::kConnection, "refused")); }));
  EXPECT_TRUE(sent([](TrailerSink& sink) {
    sink.OnSubmitted();
    sink.OnError(Error(Reason::kConnection, "broken"));
  }));
}

TEST(UploadTest, TellsOfGrowthAndGivesWhatIsThere) {
  Upload upload;
  int grown = 0;
  upload.Write("ab");
  upload.OnGrowth([&] { ++grown; });
  upload.Write("cd");
  EXPECT_EQ(upload.pending(), 4u);
  std::string out;
  upload.Take(3, out);
  EXPECT_EQ(out, "abc");
  EXPECT_FALSE(upload.ended());
  upload.End();
  upload.Write("too late");
  EXPECT_TRUE(upload.ended());
  EXPECT_EQ(upload.pending(), 1u);
  EXPECT_EQ(grown, 2);
}

}  // namespace
}  // namespace flyball::net
