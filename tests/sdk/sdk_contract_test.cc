// What the SDK promises, against the real server, over every transport.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include "base/run/notification.h"
#include "base/run/thread.h"
#include "server_fixture.h"

namespace flyball {
namespace {

using tests::RealServer;
using tests::Wire;

class SdkContractTest : public ::testing::TestWithParam<Wire> {
 protected:
  SdkContractTest() : server_(GetParam()) {}
  void SetUp() override { ASSERT_TRUE(server_.ok()); }

  static ConfigMap Make(const std::string& name, const std::string& value = "v") {
    ConfigMap object{.data = {{"k", value}}};
    object.metadata.name = name;
    object.metadata.namespace_ = "default";
    return object;
  }

  RealServer server_;
};

TEST_P(SdkContractTest, TypedVerbs) {
  const Client client = server_.client();
  auto made = client.Create(Make("a"));
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_FALSE(made->metadata.uid.empty());
  EXPECT_TRUE(client.Create(Make("a")).error().Is(Reason::kAlreadyExists));

  auto got = client.Get<ConfigMap>("default", "a");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->data.at("k"), "v");
  got->data["k"] = "w";
  auto updated = client.Update(*got);
  ASSERT_TRUE(updated);
  EXPECT_TRUE(client.Update(*got).error().Is(Reason::kConflict)) << "stale";

  auto patched = client.Patch<ConfigMap>("default", "a", PatchType::kMerge,
                                         json::Object{{"data", json::Object{{"k", nullptr}, {"n", "1"}}}});
  ASSERT_TRUE(patched);
  EXPECT_EQ(patched->data, (std::map<std::string, std::string>{{"n", "1"}}));

  EXPECT_TRUE(client.Delete(*patched));
  EXPECT_TRUE(client.Get<ConfigMap>("default", "a").error().Is(Reason::kNotFound));
}

TEST_P(SdkContractTest, ServerSideApplyOwnsFieldsAndConflicts) {
  const Client client = server_.client();
  ASSERT_TRUE(client.Apply(Make("a", "one"), {.field_manager = "first"}));
  const auto refused = client.Apply(Make("a", "two"), {.field_manager = "second"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().Is(Reason::kConflict));
  ASSERT_FALSE(refused.error().details().causes.empty());
  EXPECT_EQ(refused.error().details().causes[0].field, ".data.k");
  const auto forced = client.Apply(Make("a", "two"), {.field_manager = "second", .force = true});
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->data.at("k"), "two");
}

TEST_P(SdkContractTest, PagesAndSelectors) {
  const Client client = server_.client();
  for (int i = 0; i < 25; ++i) {
    ConfigMap object = Make("c" + std::to_string(i));
    object.metadata.labels["parity"] = i % 2 ? "odd" : "even";
    ASSERT_TRUE(client.Create(object));
  }
  int seen = 0;
  ASSERT_TRUE(client.ForEach<ConfigMap>("default", {.label_selector = "parity=odd", .limit = 5},
                                        [&](const ConfigMap&) { ++seen; }));
  EXPECT_EQ(seen, 12);
  ASSERT_TRUE(client.DeleteCollection<ConfigMap>("default", {}, {.label_selector = "parity=odd"}));
  EXPECT_EQ(client.List<ConfigMap>("default", {.label_selector = "parity"})->items.size(), 13u);
}

TEST_P(SdkContractTest, WatchReader) {
  const Client client = server_.client();
  auto made = client.Create(Make("a"));
  ASSERT_TRUE(made);
  auto events = client.Watch<ConfigMap>("default", {.resource_version = made->metadata.resource_version});
  ASSERT_TRUE(client.Delete(*made));
  ASSERT_TRUE(client.Create(Make("b")));
  auto first = events->Next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, WatchEventType::kDeleted);
  auto second = events->Next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->type, WatchEventType::kAdded);
  events->Cancel();
  EXPECT_FALSE(events->Next());
}

TEST_P(SdkContractTest, DiscoveryFindsKindsByEveryName) {
  RestMapper mapper(server_.client());
  for (const char* name :
       {"deploy", "deployments", "Deployment", "deployments.apps", "deployments.v1.apps"}) {
    auto ref = mapper.ForResource(name);
    ASSERT_TRUE(ref) << name;
    EXPECT_EQ(ref->ApiVersion(), "apps/v1");
    EXPECT_EQ(ref->plural, "deployments");
  }
  EXPECT_TRUE(mapper.ForResource("nonsense").error().Is(Reason::kNotFound));
  EXPECT_FALSE(mapper.ForKind("", "v1", "Node")->namespaced);
}

void ExpectInformerFollows(RealServer& server, bool streaming) {
  const Client client = server.client();
  const auto make = [&](int i, const std::string& value) {
    ConfigMap object{.data = {{"k", value}}};
    object.metadata.name = "c" + std::to_string(i);
    object.metadata.namespace_ = "default";
    return client.Apply(object, {.field_manager = "test"});
  };
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(make(i, "old"));
  InformerFactory factory(client, {.streaming_lists = streaming});
  auto informer = factory.For<ConfigMap>();
  factory.Start();
  factory.WaitForCacheSync();
  EXPECT_GE(informer.lister().List("default").size(), 20u);
  std::string version;
  for (int i = 10; i < 30; ++i) version = make(i, "new")->metadata.resource_version;
  auto reached = std::make_shared<Notification<bool>>();
  informer.core().WhenReached(version, [reached] { reached->Set(true); });
  reached->Wait();
  EXPECT_EQ(informer.lister().Get("default", "c15")->data.at("k"), "new");
  EXPECT_EQ(informer.lister().Get("default", "c5")->data.at("k"), "old");
  EXPECT_EQ(informer.core().reflector().lists(), streaming ? 0u : 1u) << "the server knows streaming lists";
}

TEST_P(SdkContractTest, InformerFollowsByListAndWatch) {
  ExpectInformerFollows(server_, false);
}

TEST_P(SdkContractTest, InformerFollowsByStreamingList) {
  ExpectInformerFollows(server_, true);
}

TEST_P(SdkContractTest, MetadataOnlyInformerHasNoData) {
  const Client client = server_.client();
  ASSERT_TRUE(client.Create(Make("a")));
  InformerFactory factory(client);
  auto informer = factory.MetadataOnly(KindRefOf<ConfigMap>());
  factory.Start();
  factory.WaitForCacheSync();
  const auto object = informer.lister().Get("default", "a");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->value().Find("data"), nullptr);
}

TEST_P(SdkContractTest, AControllerKeepsChildrenInStep) {
  const Client client = server_.client();
  std::stop_source stop;
  Thread runner("runner", [&] {
    Manager manager(client, {.name = "contract", .leader_election = true});
    EXPECT_TRUE(manager.For<ConfigMap>()
                    .When({.create = [](const ConfigMap& o) { return o.metadata.labels.contains("copy"); }})
                    .Owns<Secret>()
                    .Workers(2)
                    .Reconcile([](const ConfigMap& object, Context& ctx) -> Result<Action> {
                      Secret want{.metadata = ChildOf(object)};
                      want.string_data["k"] = object.data.at("k");
                      if (auto applied = ctx.client().Apply(want, {.field_manager = "copier"}); !applied)
                        return Unexpected(applied.error());
                      ctx.recorder().Normal(object, "Copied", "copied");
                      return Done();
                    }));
    EXPECT_TRUE(manager.Run(stop.get_token()));
  });
  auto secrets = client.Watch<Secret>("default");
  ConfigMap source = Make("src");
  source.metadata.labels["copy"] = "yes";
  ASSERT_TRUE(client.Create(source));
  auto added = secrets->Next();
  ASSERT_TRUE(added);
  EXPECT_EQ(added->type, WatchEventType::kAdded);
  EXPECT_EQ(std::as_const(added->object)["data"]["k"].string_or(""), "dg==");
  stop.request_stop();
  runner.Join();
}

INSTANTIATE_TEST_SUITE_P(Wires, SdkContractTest, ::testing::Values(Wire::kInProcess, Wire::kHttps),
                         [](const auto& param) {
                           return param.param == Wire::kHttps ? "Https" : "InProcess";
                         });

}  // namespace
}  // namespace flyball
