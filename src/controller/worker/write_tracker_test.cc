#include "controller/worker/write_tracker.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

constexpr char kTrackedMaps[] = "/api/v1/configmaps";

class WriteTrackerTest : public ::testing::Test {
 protected:
  WriteTrackerTest()
      : executor_(3),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(server_, runtime_)),
        factory_(client_, FactoryOptions{}),
        lister_(factory_.For<ConfigMap>().lister()),
        tracker_(std::make_shared<WriteTracker>(client_, factory_)),
        watched_(client_.WithObserver(tracker_->ObserverFor(key_))) {
    factory_.Start();
    executor_.RunFor(1s);
  }

  ConfigMap Map(const std::string& name) {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = "shop";
    if (name.empty()) map.metadata.generate_name = "made-";
    return map;
  }
  void PutBehindTheBack(const std::string& name) { server_->Put(kTrackedMaps, ToJson(Map(name))); }
  void LoseNextAnswer(const std::string& verb) {
    server_->AnswerNext(verb, "/configmaps", 500, R"({"kind": "Status", "code": 500, "message": "lost"})");
  }
  bool CaughtUp() {
    return tracker_->CaughtUp(key_, [this] { ++woken_; });
  }

  const ObjectKey key_{"shop", "key"};
  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Client client_;
  InformerFactory factory_;
  Lister<ConfigMap> lister_;
  std::shared_ptr<WriteTracker> tracker_;
  Client watched_;
  int woken_ = 0;
};

TEST_F(WriteTrackerTest, WaitsUntilTheCacheShowsWhatWasWritten) {
  EXPECT_TRUE(CaughtUp());
  ASSERT_TRUE(watched_.Create(Map("a")));
  EXPECT_FALSE(CaughtUp());
  executor_.RunFor(1s);
  EXPECT_EQ(woken_, 1);
  EXPECT_TRUE(lister_.Get("shop", "a"));
  EXPECT_TRUE(CaughtUp());
}

TEST_F(WriteTrackerTest, ALostAnswerToACreateIsNotForgotten) {
  LoseNextAnswer("POST");
  EXPECT_FALSE(watched_.Create(Map("")));
  PutBehindTheBack("made-x");
  // The first attempt asks the server, the second waits for what it reported.
  EXPECT_FALSE(CaughtUp());
  EXPECT_EQ(woken_, 1);
  EXPECT_FALSE(CaughtUp());
  executor_.RunFor(1s);
  EXPECT_EQ(woken_, 2);
  EXPECT_TRUE(lister_.Get("shop", "made-x"));
  EXPECT_TRUE(CaughtUp());
}

TEST_F(WriteTrackerTest, ALostAnswerToADeleteWaitsForTheObjectToGo) {
  PutBehindTheBack("a");
  executor_.RunFor(1s);
  LoseNextAnswer("DELETE");
  EXPECT_FALSE(watched_.Delete<ConfigMap>("shop", "a"));
  server_->Remove(kTrackedMaps, "shop", "a");
  EXPECT_FALSE(CaughtUp());
  EXPECT_TRUE(lister_.Get("shop", "a")) << "the cache was to be stale";
  EXPECT_FALSE(CaughtUp());
  executor_.RunFor(1s);
  EXPECT_FALSE(lister_.Get("shop", "a"));
  EXPECT_TRUE(CaughtUp());
}

TEST_F(WriteTrackerTest, AWriteThatWasNeverDoneIsNotWaitedFor) {
  PutBehindTheBack("a");
  executor_.RunFor(1s);
  LoseNextAnswer("POST");
  EXPECT_FALSE(watched_.Create(Map("")));
  EXPECT_FALSE(CaughtUp());
  EXPECT_TRUE(CaughtUp());
}

TEST_F(WriteTrackerTest, AServerThatDoesNotAnswerIsAskedAgain) {
  LoseNextAnswer("POST");
  EXPECT_FALSE(watched_.Create(Map("")));
  server_->SetDown(true);
  EXPECT_FALSE(CaughtUp());
  EXPECT_EQ(woken_, 0);
  executor_.RunFor(2s);
  EXPECT_EQ(woken_, 1);
  EXPECT_FALSE(CaughtUp());
  server_->SetDown(false);
  executor_.RunFor(2s);
  EXPECT_FALSE(CaughtUp());
  EXPECT_TRUE(CaughtUp());
}

}  // namespace
}  // namespace flyball
