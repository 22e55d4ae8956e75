#include "informer/reflector.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;
using State = Reflector::State;

constexpr char kReflectedPath[] = "/api/v1/configmaps";

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest()
      : executor_(5),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        queue_([] {}) {}
  ~ReflectorTest() override {
    if (reflector_) reflector_->Stop();
    executor_.RunReady();
  }

  void Begin(bool streaming = false) {
    ReflectorOptions options;
    options.kind = KindRefOf<ConfigMap>();
    options.streaming_list = streaming;
    reflector_ = std::make_unique<Reflector>(Client(std::make_shared<RestClient>(server_, runtime_)),
                                             ObjectTypeOf<ConfigMap>(), options, queue_);
    reflector_->Start();
  }
  void Put(const std::string& name) {
    server_->Put(kReflectedPath,
                 json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "default"}}}});
  }
  std::vector<DeltaType> Take() {
    std::vector<DeltaType> types;
    for (auto batch = queue_.TakeBatch(); !batch.empty(); batch = queue_.TakeBatch())
      for (const Delta& delta : batch) types.push_back(delta.type);
    return types;
  }
  std::string LastTarget() { return server_->log().back().target; }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  DeltaQueue queue_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsAtZeroThenWatchesFromThere) {
  Put("a");
  Begin();
  executor_.RunReady();
  EXPECT_EQ(reflector_->state(), State::kWatching);
  EXPECT_NE(server_->log().at(0).target.find("resourceVersion=0&limit=500"), std::string::npos);
  EXPECT_NE(LastTarget().find("watch=true&allowWatchBookmarks=true&timeoutSeconds="), std::string::npos);
  EXPECT_NE(LastTarget().find("resourceVersion=101"), std::string::npos);
  EXPECT_EQ(Take(), std::vector<DeltaType>{DeltaType::kReplaced});
}

TEST_F(ReflectorTest, ABrokenWatchIsResumedWithoutAList) {
  Begin();
  executor_.RunFor(10s);
  Put("a");
  executor_.RunReady();
  server_->CutWatches();
  Put("b");
  executor_.RunFor(10s);
  EXPECT_EQ(reflector_->lists(), 1u);
  EXPECT_EQ(Take(), (std::vector<DeltaType>{DeltaType::kReplaced, DeltaType::kAdded, DeltaType::kAdded}));
}

TEST_F(ReflectorTest, AnExpiredWatchIsFollowedByAListOfTheLastVersion) {
  Begin();
  executor_.RunReady();
  Put("a");
  executor_.RunReady();
  server_->ExpireWatches();
  executor_.RunReady();
  EXPECT_EQ(reflector_->lists(), 2u);
  bool asked_for_last = false;
  for (const auto& request : server_->log())
    asked_for_last |= request.target == "/api/v1/configmaps?resourceVersion=101";
  EXPECT_TRUE(asked_for_last) << "at the last version, and not in pages";
  EXPECT_EQ(reflector_->state(), State::kWatching);
}

TEST_F(ReflectorTest, AnExpiredListIsFollowedAtOnceByOneOfAnyVersion) {
  Begin();
  executor_.RunReady();
  server_->AnswerNext("GET", "resourceVersion=100", 410,
                      R"({"kind":"Status","reason":"Expired","code":410,"message":"old"})");
  server_->ExpireWatches();
  executor_.RunReady();
  EXPECT_EQ(reflector_->lists(), 3u);
  EXPECT_EQ(reflector_->state(), State::kWatching);
}

TEST_F(ReflectorTest, BacksOffWithGrowingPausesWhileTheServerIsAway) {
  server_->SetDown(true);
  Begin();
  executor_.RunFor(2min);
  // 0.8 s doubled up to 30 s, each with a jitter of up to 100 %: between 6 and 10 attempts in two minutes.
  EXPECT_GE(server_->requests(), 5u);
  EXPECT_LE(server_->requests(), 10u);
  EXPECT_EQ(reflector_->state(), State::kWaiting);
  server_->SetDown(false);
  executor_.RunFor(1min);
  EXPECT_EQ(reflector_->state(), State::kWatching);
}

TEST_F(ReflectorTest, AnOverloadedServerIsAskedForTheWatchAgainNotForTheList) {
  Begin();
  executor_.RunReady();
  server_->AnswerNext("GET", "watch=true", 429, R"({"kind":"Status","reason":"TooManyRequests","code":429})");
  server_->CutWatches();
  executor_.RunFor(1min);
  EXPECT_EQ(reflector_->lists(), 1u);
  EXPECT_EQ(reflector_->state(), State::kWatching);
}

TEST_F(ReflectorTest, LongListsComeInPages) {
  for (int i = 0; i < 1200; ++i) Put("c" + std::to_string(i));
  Begin();
  // The first list may be served from the cache and is not paged; the list after an expiry is.
  server_->AnswerNext("GET", "resourceVersion=0", 410, R"({"kind":"Status","reason":"Expired","code":410})");
  executor_.RunReady();
  EXPECT_EQ(server_->requests("GET", "continue="), 2u);
  const auto batch = queue_.TakeBatch();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].items.size(), 1200u);
}

TEST_F(ReflectorTest, AStreamingListIsOneRequest) {
  Put("a");
  Put("b");
  Begin(true);
  executor_.RunReady();
  EXPECT_EQ(reflector_->state(), State::kWatching);
  Put("c");
  executor_.RunReady();
  EXPECT_EQ(server_->requests(), 1u);
  EXPECT_NE(LastTarget().find("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), std::string::npos);
  EXPECT_EQ(Take(), (std::vector<DeltaType>{DeltaType::kReplaced, DeltaType::kAdded}));
}

TEST_F(ReflectorTest, WhereStreamingListsAreRefusedItLists) {
  server_->set_streaming_lists(false);
  Put("a");
  Begin(true);
  executor_.RunReady();
  EXPECT_EQ(reflector_->state(), State::kWatching);
  EXPECT_EQ(reflector_->lists(), 1u);
  server_->Compact();
  server_->CutWatches();
  executor_.RunFor(1min);
  EXPECT_EQ(server_->requests("GET", "sendInitialEvents"), 1u) << "asked once, not at every list";
}

TEST_F(ReflectorTest, AServerThatIgnoresSendInitialEventsIsNoticed) {
  Put("a");
  Begin(true);
  // Old servers respond with a plain watch: no bookmark ends the initial events.
  server_->AnswerNext("GET", "sendInitialEvents", 200, "");
  executor_.RunReady();
  EXPECT_NE(reflector_->state(), State::kIdle);
  executor_.RunFor(1min);
  EXPECT_EQ(reflector_->state(), State::kWatching);
}

TEST_F(ReflectorTest, AFullQueueStopsTheReading) {
  Begin();
  executor_.RunReady();
  Take();
  for (int i = 0; i < 30000; ++i) Put("c" + std::to_string(i));
  executor_.RunReady();
  EXPECT_LE(queue_.size(), 30000u);
  std::size_t seen = 0;
  while (seen < 30000) {
    const auto types = Take();
    if (types.empty()) break;
    seen += types.size();
    reflector_->ResumeReading();
    executor_.RunReady();
  }
  EXPECT_EQ(seen, 30000u);
}

TEST_F(ReflectorTest, NothingHappensAfterStop) {
  Begin();
  executor_.RunReady();
  bool stopped = false;
  reflector_->Stop([&] { stopped = true; });
  executor_.RunReady();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(reflector_->state(), State::kStopped);
  EXPECT_EQ(server_->open_watches(), 0u);
  const auto requests = server_->requests();
  Put("late");
  executor_.RunFor(1h);
  EXPECT_EQ(server_->requests(), requests);
}

}  // namespace
}  // namespace flyball
