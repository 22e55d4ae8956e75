#include "informer/shared_informer.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"
#include "informer/informer_factory.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;
using Ptr = std::shared_ptr<const ConfigMap>;

constexpr char kConfigMaps[] = "/api/v1/configmaps";

class SharedInformerTest : public ::testing::Test {
 protected:
  SharedInformerTest()
      : executor_(5),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        factory_(Client(std::make_shared<RestClient>(server_, runtime_))) {}
  ~SharedInformerTest() override {
    factory_.Stop();
    executor_.RunReady();
  }

  void Put(const std::string& name, const std::string& value = "v") {
    json::Value object =
        server_->Find(kConfigMaps, "default", name)
            .value_or(json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "default"}}}});
    object["data"]["k"] = value;
    server_->Put(kConfigMaps, std::move(object));
  }
  EventHandler<ConfigMap> Logger(std::vector<std::string>& log) {
    return {.on_add = [&log](const Ptr& o,
                             bool initial) { log.push_back((initial ? "+!" : "+") + o->metadata.name); },
            .on_update = [&log](const Ptr& a,
                                const Ptr& b) { log.push_back((a == b ? "=" : "~") + b->metadata.name); },
            .on_delete = [&log](const Ptr& o,
                                bool unknown) { log.push_back((unknown ? "-?" : "-") + o->metadata.name); }};
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  InformerFactory factory_;
};

TEST_F(SharedInformerTest, FollowsTheServer) {
  Put("a");
  Put("b");
  std::vector<std::string> log;
  auto informer = factory_.For<ConfigMap>();
  auto handler = informer.AddHandler(Logger(log));
  EXPECT_FALSE(factory_.HasSynced());
  factory_.Start();
  executor_.RunReady();
  EXPECT_TRUE(informer.HasSynced());
  EXPECT_TRUE(handler->HasSynced());
  EXPECT_EQ(log, (std::vector<std::string>{"+!a", "+!b"}));
  Put("a", "new");
  server_->Remove(kConfigMaps, "default", "b");
  Put("c");
  executor_.RunReady();
  EXPECT_EQ(log, (std::vector<std::string>{"+!a", "+!b", "~a", "-b", "+c"}));
  EXPECT_EQ(informer.lister().Get("default", "a")->data.at("k"), "new");
  EXPECT_EQ(informer.lister().Get("default", "b"), nullptr);
  EXPECT_EQ(server_->requests("GET", "configmaps"), 2u) << "one list, one watch";
}

TEST_F(SharedInformerTest, ALateHandlerHearsOfEverythingStored) {
  Put("a");
  auto informer = factory_.For<ConfigMap>();
  factory_.Start();
  executor_.RunReady();
  std::vector<std::string> log;
  auto handler = informer.AddHandler(Logger(log));
  bool synced = false;
  handler->OnSynced([&] { synced = true; });
  Put("b");
  executor_.RunReady();
  EXPECT_TRUE(synced);
  EXPECT_EQ(log, (std::vector<std::string>{"+!a", "+b"}));
}

TEST_F(SharedInformerTest, ARemovedHandlerHearsNothingMore) {
  std::vector<std::string> log;
  auto handler = factory_.For<ConfigMap>().AddHandler(Logger(log));
  factory_.Start();
  Put("a");
  executor_.RunReady();
  handler->Remove();
  Put("b");
  executor_.RunReady();
  EXPECT_EQ(log, std::vector<std::string>{"+!a"});
}

TEST_F(SharedInformerTest, ResyncReachesOnlyThoseWhoAskedAndAsksNobody) {
  Put("a");
  std::vector<std::string> with, without;
  auto informer = factory_.For<ConfigMap>();
  informer.AddHandler(Logger(with), 10min);
  informer.AddHandler(Logger(without));
  factory_.Start();
  executor_.RunReady();
  const auto lists = server_->requests("GET", "limit=");
  executor_.RunFor(35min);
  EXPECT_EQ(with, (std::vector<std::string>{"+!a", "=a", "=a", "=a"}));
  EXPECT_EQ(without, std::vector<std::string>{"+!a"});
  EXPECT_EQ(server_->requests("GET", "limit="), lists);
}

TEST_F(SharedInformerTest, AfterABreakTheDifferenceIsToldWithFinalStateUnknown) {
  Put("kept");
  Put("changed");
  Put("gone");
  std::vector<std::string> log;
  factory_.For<ConfigMap>().AddHandler(Logger(log));
  factory_.Start();
  executor_.RunReady();
  log.clear();
  server_->SetDown(true);
  executor_.RunFor(10s);
  Put("changed", "x");
  server_->Remove(kConfigMaps, "default", "gone");
  Put("fresh");
  server_->Compact();
  server_->SetDown(false);
  executor_.RunFor(2min);
  std::sort(log.begin(), log.end());
  EXPECT_EQ(log, (std::vector<std::string>{"+fresh", "-?gone", "~changed"}));
}

TEST_F(SharedInformerTest, TransformDropsWhatNobodyReads) {
  Put("a");
  auto informer = factory_.For<ConfigMap>({}, [](ConfigMap& object) { object.data.clear(); });
  factory_.Start();
  executor_.RunReady();
  EXPECT_TRUE(informer.lister().Get("default", "a")->data.empty());
}

TEST_F(SharedInformerTest, DynamicAndMetadataOnlyInformers) {
  Put("a");
  const KindRef kind{"", "v1", "ConfigMap", "configmaps", true};
  auto dynamic = factory_.Dynamic(kind);
  auto partial = factory_.MetadataOnly(kind);
  factory_.Start();
  executor_.RunReady();
  const auto whole = dynamic.lister().Get("default", "a");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->value()["data"]["k"].string_or(""), "v");
  EXPECT_EQ(whole->kind(), "ConfigMap") << "items of lists lack it";
  const auto meta = partial.lister().Get("default", "a");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->name(), "a");
  EXPECT_EQ(meta->value().Find("data"), nullptr);
  std::size_t asked = 0;
  for (const auto& request : server_->log())
    asked += request.headers.Get("accept").find("as=PartialObjectMetadata") != std::string_view::npos;
  EXPECT_EQ(asked, 2u);
}

TEST_F(SharedInformerTest, WhenReachedTellsOfTheFirstVersionThatIsNewEnough) {
  auto informer = factory_.For<ConfigMap>();
  factory_.Start();
  executor_.RunReady();
  Put("a");
  const std::string version = server_->Versions(kConfigMaps)["default/a"];
  bool reached = false;
  informer.core().WhenReached(version, [&] { reached = true; });
  EXPECT_FALSE(reached);
  executor_.RunReady();
  EXPECT_TRUE(reached);
  EXPECT_TRUE(informer.core().HasReached(version));
  EXPECT_FALSE(informer.core().HasReached("99999999999999999999999"));
}

TEST_F(SharedInformerTest, ABookmarkAdvancesTheVersion) {
  auto informer = factory_.For<ConfigMap>();
  factory_.Start();
  executor_.RunReady();
  server_->Put("/api/v1/secrets", json::Object{{"metadata", json::Object{{"name", "s"}}}});
  const std::string version = server_->Versions("/api/v1/secrets")["s"];
  EXPECT_FALSE(informer.core().HasReached(version));
  server_->SendBookmarks();
  executor_.RunReady();
  EXPECT_TRUE(informer.core().HasReached(version));
  EXPECT_EQ(informer.core().reflector().last_resource_version(), version);
}

TEST_F(SharedInformerTest, AHandlerThatThrowsDoesNotStopTheOthersNorItself) {
  std::vector<std::string> log;
  auto informer = factory_.For<ConfigMap>();
  int calls = 0;
  informer.AddHandler({.on_add = [&](const Ptr&, bool) {
    ++calls;
    throw std::runtime_error("oops");
  }});
  informer.AddHandler(Logger(log));
  factory_.Start();
  Put("a");
  Put("b");
  executor_.RunReady();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(log.size(), 2u);
}

TEST_F(SharedInformerTest, ObjectsThatCannotBeReadAreSkipped) {
  server_->Put(kConfigMaps,
               json::Object{{"metadata", json::Object{{"name", "bad"}, {"namespace", "default"}}},
                            {"data", "not a map"}});
  Put("good");
  auto informer = factory_.For<ConfigMap>();
  factory_.Start();
  executor_.RunReady();
  EXPECT_EQ(informer.lister().size(), 1u);
  EXPECT_TRUE(informer.HasSynced());
}

}  // namespace
}  // namespace flyball
