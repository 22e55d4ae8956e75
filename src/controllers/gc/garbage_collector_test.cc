#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class GarbageCollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartControllers();
    plane_.Run(2s);
  }
  // A ConfigMap in `ns`, owned by another in `owner_ns`.
  void Make(const std::string& name, const std::string& owner = {}, bool blocks = false,
            std::string ns = "default", std::string owner_ns = "default") {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = ns;
    if (!owner.empty()) map.metadata.owner_references.push_back(RefTo(owner, blocks, owner_ns));
    const auto made = plane_.client->Create(map);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  OwnerReference RefTo(const std::string& owner, bool blocks, const std::string& ns) {
    OwnerReference ref = ControllerRefTo(plane_.Get<ConfigMap>(ns, owner));
    ref.controller = std::nullopt;
    ref.block_owner_deletion = blocks;
    return ref;
  }
  void Hold(const std::string& name) {
    plane_.MergePatch<ConfigMap>("default", name, "metadata: {finalizers: [example.com/hold]}");
  }
  void LetGo(const std::string& name) {
    plane_.MergePatch<ConfigMap>("default", name, "metadata: {finalizers: null}");
    plane_.Run(2s);
  }
  void Delete(const std::string& name, const std::string& policy) {
    DeleteParams params;
    params.propagation_policy = policy;
    ASSERT_TRUE(plane_.client->Delete<ConfigMap>("default", name, params));
    plane_.Run(2s);
  }
  bool Has(const std::string& name) { return plane_.Exists<ConfigMap>("default", name); }

  testing::ControlPlane plane_;
};

TEST_F(GarbageCollectorTest, InTheBackgroundEverythingBelowGoes) {
  Make("top");
  Make("mid", "top");
  Make("low", "mid");
  plane_.Run(1s);
  Delete("top", "Background");
  EXPECT_FALSE(Has("top"));
  EXPECT_FALSE(Has("mid"));
  EXPECT_FALSE(Has("low"));
}

TEST_F(GarbageCollectorTest, InTheForegroundTheOwnerWaitsForThoseThatBlock) {
  Make("top");
  Make("mid", "top", true);
  Make("low", "mid", true);
  Make("free", "top", false);
  Hold("low");
  plane_.Run(1s);
  Delete("top", "Foreground");
  EXPECT_FALSE(Has("free"));
  EXPECT_EQ(plane_.Get<ConfigMap>("default", "top").metadata.finalizers,
            std::vector<std::string>{"foregroundDeletion"});
  EXPECT_EQ(plane_.Get<ConfigMap>("default", "mid").metadata.finalizers,
            std::vector<std::string>{"foregroundDeletion"});
  EXPECT_TRUE(IsDeleting(plane_.Get<ConfigMap>("default", "low").metadata));
  LetGo("low");
  EXPECT_FALSE(Has("low"));
  EXPECT_FALSE(Has("mid"));
  EXPECT_FALSE(Has("top"));
}

TEST_F(GarbageCollectorTest, OrphansStayWithoutTheirOwner) {
  Make("top");
  Make("mid", "top", true);
  Make("low", "mid", true);
  plane_.Run(1s);
  Delete("top", "Orphan");
  EXPECT_FALSE(Has("top"));
  EXPECT_TRUE(plane_.Get<ConfigMap>("default", "mid").metadata.owner_references.empty());
  EXPECT_EQ(plane_.Get<ConfigMap>("default", "low").metadata.owner_references.size(), 1u);
}

TEST_F(GarbageCollectorTest, TheLastOfTwoOwnersTakesItAlong) {
  Make("a");
  Make("b");
  Make("c", "a");
  ConfigMap c = plane_.Get<ConfigMap>("default", "c");
  c.metadata.owner_references.push_back(RefTo("b", false, "default"));
  ASSERT_TRUE(plane_.client->Update(c));
  plane_.Run(1s);
  Delete("a", "Background");
  ASSERT_EQ(plane_.Get<ConfigMap>("default", "c").metadata.owner_references.size(), 1u);
  EXPECT_EQ(plane_.Get<ConfigMap>("default", "c").metadata.owner_references[0].name, "b");
  Delete("b", "Background");
  EXPECT_FALSE(Has("c"));
}

TEST_F(GarbageCollectorTest, AnOwnerThatNeverWas) {
  plane_.Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: default, ownerReferences: "
      "[{apiVersion: v1, kind: ConfigMap, name: nobody, uid: 11111111-2222-3333-4444-555555555555}]}}");
  plane_.Run(2s);
  EXPECT_FALSE(Has("lost"));
}

TEST_F(GarbageCollectorTest, AnOwnerInAnotherNamespaceDoesNotCount) {
  plane_.Create("{apiVersion: v1, kind: Namespace, metadata: {name: other}}");
  Make("far", "", false, "other");
  plane_.Run(1s);
  const std::string uid = plane_.Get<ConfigMap>("other", "far").metadata.uid;
  Make("near", "far", false, "default", "other");
  plane_.Run(2s);
  EXPECT_FALSE(Has("near"));
  EXPECT_TRUE(plane_.Exists<ConfigMap>("other", "far"));
  EXPECT_EQ(
      plane_.EventsOf("default", "near"),
      std::vector<std::string>{"Warning OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: default, "
                               "name: far, uid: " +
                               uid + "] does not exist in namespace \"default\""});
}

TEST_F(GarbageCollectorTest, ACycleIsBrokenInTheForeground) {
  Make("a");
  Make("b", "a", true);
  ConfigMap a = plane_.Get<ConfigMap>("default", "a");
  a.metadata.owner_references.push_back(RefTo("b", true, "default"));
  ASSERT_TRUE(plane_.client->Update(a));
  plane_.Run(1s);
  Delete("a", "Foreground");
  plane_.Run(5s);
  EXPECT_FALSE(Has("a"));
  EXPECT_FALSE(Has("b"));
}

TEST_F(GarbageCollectorTest, OwnersOfAKindThatAppearsWhileItRuns) {
  plane_.Create(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.gc.example.com}
spec:
  group: gc.example.com
  names: {kind: Box, plural: boxes, singular: box}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
)");
  plane_.Run(2s);
  const KindRef boxes{"gc.example.com", "v1", "Box", "boxes", true};
  const auto box = plane_.client->Dynamic(boxes).Create(
      json::Object{{"metadata", json::Object{{"name", "b"}, {"namespace", "default"}}}});
  ASSERT_TRUE(box) << box.error().ToString();
  plane_.Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: default, ownerReferences: "
      "[{apiVersion: gc.example.com/v1, kind: Box, name: b, uid: " +
      std::string(std::as_const(*box)["metadata"]["uid"].string_or("")) + "}]}}");
  plane_.Run(2s);
  EXPECT_TRUE(Has("inside"));
  ASSERT_TRUE(plane_.client->Dynamic(boxes).Delete("default", "b"));
  plane_.Run(2s);
  EXPECT_FALSE(Has("inside"));
}

// Nobody watches Events.
TEST_F(GarbageCollectorTest, AnOwnerThatIsNotWatched) {
  plane_.Create(R"({apiVersion: v1, kind: Event, metadata: {name: e, namespace: default},
    involvedObject: {kind: Pod, namespace: default, name: p}, reason: Seen, message: seen, type: Normal,
    reportingComponent: test, reportingInstance: test})");
  const KindRef events{"", "v1", "Event", "events", true};
  const auto event = plane_.client->Dynamic(events).Get("default", "e");
  ASSERT_TRUE(event) << event.error().ToString();
  plane_.Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: default, ownerReferences: "
      "[{apiVersion: events.k8s.io/v1, kind: Event, name: e, uid: " +
      std::string(std::as_const(*event)["metadata"]["uid"].string_or("")) + "}]}}");
  plane_.Run(2s);
  EXPECT_TRUE(Has("inside"));
  ASSERT_TRUE(plane_.client->Dynamic(events).Delete("default", "e"));
  plane_.Run(10s);
  EXPECT_FALSE(Has("inside"));
}

TEST_F(GarbageCollectorTest, ADeploymentTakesItsReplicaSetsAndPodsAlong) {
  plane_.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}
)");
  plane_.Settle();
  EXPECT_EQ(plane_.List<Pod>("default").size(), 2u);
  DeleteParams params;
  params.propagation_policy = "Foreground";
  ASSERT_TRUE(plane_.client->Delete<Deployment>("default", "d", params));
  plane_.Settle();
  EXPECT_TRUE(plane_.List<Deployment>("default").empty());
  EXPECT_TRUE(plane_.List<ReplicaSet>("default").empty());
  EXPECT_TRUE(plane_.List<Pod>("default").empty());
}

}  // namespace
}  // namespace flyball::controllers
