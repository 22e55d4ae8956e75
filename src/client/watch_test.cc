#include "client/watch.h"

#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "client/client.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

TEST(LineSplitterTest, LinesComeOutWholeHoweverTheyAreCut) {
  const std::string text = "first\n\nsecond line\nthird\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter lines;
    std::vector<std::string> got;
    for (std::size_t i = 0; i < text.size(); i += piece)
      EXPECT_TRUE(lines.Feed(std::string_view(text).substr(i, piece), [&](std::string_view line) {
        got.emplace_back(line);
        return true;
      }));
    EXPECT_EQ(got, (std::vector<std::string>{"first", "second line", "third"})) << "pieces of " << piece;
    EXPECT_TRUE(lines.has_partial());
  }
}

TEST(LineSplitterTest, AnEndlessLineIsAnError) {
  LineSplitter lines;
  const std::string megabyte(1 << 20, 'x');
  bool good = true;
  for (int i = 0; i < 20 && good; ++i) good = lines.Feed(megabyte, [](std::string_view) { return true; });
  EXPECT_FALSE(good);
}

TEST(ParseWatchEventTest, TypesAndMalformedFrames) {
  auto event = ParseWatchEvent(R"({"type":"MODIFIED","object":{"metadata":{"name":"x"}}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEventType::kModified);
  EXPECT_EQ(std::as_const(event->object)["metadata"]["name"].string_or(""), "x");
  EXPECT_FALSE(ParseWatchEvent(R"({"type":"WHAT","object":{}})"));
  EXPECT_FALSE(ParseWatchEvent(R"({"type":"ADDED"})"));
  EXPECT_FALSE(ParseWatchEvent(R"({"type":"ADDED","object":)"));
}

class Recorder final : public WatchSink {
 public:
  void OnEvent(WatchEvent event) override { events.push_back(std::move(event)); }
  void OnDone(const Status& s) override { done = s; }
  std::vector<WatchEvent> events;
  std::optional<Status> done;
};

class WatchTest : public ::testing::Test {
 protected:
  WatchTest()
      : executor_(3),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        maps_(std::make_shared<RestClient>(server_, runtime_), {"", "v1", "ConfigMap", "configmaps", true}) {}

  void Put(const std::string& name) {
    server_->Put("/api/v1/configmaps",
                 json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "default"}}}});
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  DynamicClient maps_;
};

TEST_F(WatchTest, EventsArriveInOrderThroughPieces) {
  server_->SetFaults({.split = 1});
  auto sink = std::make_shared<Recorder>();
  auto watch = maps_.Watch("default", {}, sink);
  for (int i = 0; i < 10; ++i) Put("c" + std::to_string(i));
  executor_.RunReady();
  ASSERT_EQ(sink->events.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(std::as_const(sink->events[i].object)["metadata"]["name"].string_or(""),
              "c" + std::to_string(i));
  EXPECT_FALSE(sink->done);
  server_->CutWatches();
  executor_.RunReady();
  ASSERT_TRUE(sink->done);
  EXPECT_TRUE(sink->done->error().Is(Reason::kConnection));
}

TEST_F(WatchTest, ARefusedWatchSaysWhy) {
  server_->Compact();
  auto sink = std::make_shared<Recorder>();
  auto watch = maps_.Watch("default", {.resource_version = "5"}, sink);
  executor_.RunReady();
  ASSERT_TRUE(sink->done);
  EXPECT_TRUE(sink->done->error().Is(Reason::kExpired));
}

TEST_F(WatchTest, DestroyingTheStreamCancelsIt) {
  auto sink = std::make_shared<Recorder>();
  maps_.Watch("default", {}, sink).reset();
  executor_.RunReady();
  ASSERT_TRUE(sink->done);
  EXPECT_TRUE(sink->done->error().Is(Reason::kCancelled));
  EXPECT_EQ(server_->open_watches(), 0u);
}

}  // namespace
}  // namespace flyball
