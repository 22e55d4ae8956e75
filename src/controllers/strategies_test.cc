// Three ways to write a controller, and how each handles an event that it never receives. The task: every
// ConfigMap in namespace `from` has a copy in namespace `to`.
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

using MapPtr = std::shared_ptr<const ConfigMap>;

class StrategiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* ns : {"from", "to"})
      plane_.Create(std::string("{apiVersion: v1, kind: Namespace, metadata: {name: ") + ns + "}}");
    plane_.manager = std::make_unique<Manager>(*plane_.client);
  }

  // Drops the event of the ConfigMap `lost`, as a crash between two steps, or a bug, would.
  static bool IsHeard(const ConfigMap& map) {
    return map.metadata.namespace_ == "from" && map.metadata.name != "lost";
  }
  void Add(const std::string& name) {
    plane_.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: from}}");
    plane_.Run(1s);
  }
  static Status Copy(const Client& client, const std::string& name) {
    ConfigMap copy;
    copy.metadata.namespace_ = "to";
    copy.metadata.name = name;
    const auto made = client.Create(copy);
    if (!made && !made.error().Is(Reason::kAlreadyExists)) return Unexpected(made.error());
    return {};
  }
  std::string Copies() {
    std::string out;
    for (const ConfigMap& map : plane_.List<ConfigMap>("to"))
      out += (out.empty() ? "" : " ") + map.metadata.name;
    return out;
  }

  // Edge-triggered: does what the event says, to the object of the event.
  void StartEdgeOnly() {
    EventHandler<ConfigMap> handler;
    handler.on_add = [client = *plane_.client](const MapPtr& map, bool) {
      if (IsHeard(*map)) (void)Copy(client, map->metadata.name);
    };
    registration_ =
        plane_.manager->informers().For<ConfigMap>().AddHandler(std::move(handler), Duration::zero());
    ASSERT_TRUE(plane_.manager->Start());
    plane_.Run(1s);
  }
  // Level-driven: an event only says that it is time to look; the reconcile compares the whole actual state
  // with the whole desired state.
  void StartLevelDriven(Duration resync) {
    const auto maps = plane_.manager->informers().For<ConfigMap>().lister();
    ControllerOptions options;
    options.name = "copies";
    const auto controller =
        plane_.manager->AddController(options, [maps](const ObjectKey&, Context& ctx) -> Result<Action> {
          for (const MapPtr& map : maps.List("from"))
            if (!maps.Get("to", map->metadata.name)) FLYBALL_TRY(Copy(ctx.client(), map->metadata.name));
          return Done();
        });
    EventHandler<ConfigMap> handler;
    handler.on_add = [weak = std::weak_ptr(controller)](const MapPtr& map, bool) {
      if (const auto target = weak.lock(); target && IsHeard(*map)) target->Enqueue({"", "all"});
    };
    handler.on_update = [weak = std::weak_ptr(controller)](const MapPtr&, const MapPtr& map) {
      if (const auto target = weak.lock(); target && map->metadata.namespace_ == "from")
        target->Enqueue({"", "all"});
    };
    controller->DependOn(plane_.manager->informers().For<ConfigMap>().AddHandler(std::move(handler), resync));
    ASSERT_TRUE(plane_.manager->Start());
    plane_.Run(1s);
  }

  testing::ControlPlane plane_;
  std::shared_ptr<HandlerRegistration> registration_;
};

TEST_F(StrategiesTest, EdgeOnlyMissesALostEventForEver) {
  StartEdgeOnly();
  Add("first");
  Add("lost");
  EXPECT_EQ(Copies(), "first");
  Add("next");
  plane_.Run(1h);
  EXPECT_EQ(Copies(), "first next");
}

TEST_F(StrategiesTest, LevelDrivenRecoversAtTheNextEvent) {
  StartLevelDriven(Duration::zero());
  Add("first");
  Add("lost");
  plane_.Run(1h);
  EXPECT_EQ(Copies(), "first");
  Add("next");
  EXPECT_EQ(Copies(), "first lost next");
}

TEST_F(StrategiesTest, WithResyncItRecoversWithoutOne) {
  StartLevelDriven(30s);
  Add("first");
  Add("lost");
  EXPECT_EQ(Copies(), "first");
  plane_.Run(31s);
  EXPECT_EQ(Copies(), "first lost");
}

}  // namespace
}  // namespace flyball::controllers
