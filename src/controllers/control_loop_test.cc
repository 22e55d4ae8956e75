// Follows the control loop once around, step by step, as in docs/control-loop.md. The executor runs one
// closure at a time, so the test can stop and check after every step.
#include "controllers/testing/control_plane_test.h"
#include "informer/reflector.h"

namespace flyball::controllers {
namespace {

const ObjectKey kRsa{"nsa", "rsa"};

class ControlLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"replicaset-controller", "deployment-controller"};
    plane_.StartControllers(options);
    plane_.Create("{apiVersion: v1, kind: Namespace, metadata: {name: nsa}}");
    plane_.Create(R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rsa, namespace: nsa}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}
)");
    plane_.Settle();
    ASSERT_EQ(Pods().size(), 2u);
    ASSERT_EQ(Rsa().status.replicas, 2);
    ASSERT_EQ(Queue().size(), 0u);
  }

  ReplicaSet Rsa() { return plane_.Get<ReplicaSet>("nsa", "rsa"); }
  std::vector<Pod> Pods() { return plane_.List<Pod>("nsa"); }
  Lister<ReplicaSet> Cache() { return plane_.manager->informers().For<ReplicaSet>().lister(); }
  Lister<Pod> PodCache() { return plane_.manager->informers().For<Pod>().lister(); }
  WorkQueue<ObjectKey>& Queue() {
    for (const auto& controller : plane_.manager->controllers())
      if (controller->name() == "replicaset-controller") return controller->queue();
    throw std::logic_error("no replicaset-controller");
  }
  // Runs one closure after another until the condition holds. Returns false if it never does.
  template <typename Fn>
  bool StepUntil(Fn holds) {
    for (int i = 0; i < 10000; ++i) {
      if (holds()) return true;
      if (!plane_.executor.Step()) return false;
    }
    return false;
  }
  void ScaleTo3() { plane_.MergePatch<ReplicaSet>("nsa", "rsa", "spec: {replicas: 3}"); }

  testing::ControlPlane plane_;
};

TEST_F(ControlLoopTest, TheServerTakesTheChange) {
  const ReplicaSet before = Rsa();
  ScaleTo3();
  const ReplicaSet after = Rsa();
  EXPECT_EQ(after.spec.replicas, 3);
  EXPECT_EQ(after.metadata.generation, before.metadata.generation + 1);
  EXPECT_GT(std::stoll(after.metadata.resource_version), std::stoll(before.metadata.resource_version));
  EXPECT_EQ(Pods().size(), 2u) << "nobody has acted yet";
}

// Steps 3 and 4 use a separate reflector, because those of the informers cannot be inspected.
TEST_F(ControlLoopTest, TheWatchEventReachesTheDeltaQueueUnderTheKeyOfTheObject) {
  DeltaQueue queue([] {});
  ReflectorOptions options;
  options.kind = KindRefOf<ReplicaSet>();
  Reflector reflector(*plane_.client, ObjectTypeOf<ReplicaSet>(), options, queue);
  reflector.Start();
  ASSERT_TRUE(
      StepUntil([&] { return reflector.state() == Reflector::State::kWatching && queue.size() > 0; }));
  const auto listed = queue.TakeBatch();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].type, DeltaType::kReplaced) << "everything there is, as one step";
  queue.Processed();
  EXPECT_TRUE(queue.synced());

  ScaleTo3();
  ASSERT_TRUE(StepUntil([&] { return queue.size() > 0; }));
  const auto changed = queue.TakeBatch();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].type, DeltaType::kUpdated);
  EXPECT_EQ(changed[0].key, "nsa/rsa");
  EXPECT_EQ(std::static_pointer_cast<const ReplicaSet>(changed[0].object)->spec.replicas, 3);
  EXPECT_EQ(reflector.last_resource_version(), Rsa().metadata.resource_version);
  EXPECT_EQ(reflector.lists(), 1u) << "a change costs no list";
  bool stopped = false;
  reflector.Stop([&] { stopped = true; });
  ASSERT_TRUE(StepUntil([&] { return stopped; }));
}

TEST_F(ControlLoopTest, FromTwoPodsToThree) {
  // A second handler, to see when handlers are notified: not before the local store has the object.
  std::vector<std::string> heard;
  EventHandler<ReplicaSet> listener;
  listener.on_update = [&](const auto& before, const auto& now) {
    heard.push_back(std::to_string(*before->spec.replicas) + " -> " + std::to_string(*now->spec.replicas));
    EXPECT_EQ(Cache().Get(kRsa)->spec.replicas, 3);
  };
  const auto registration =
      plane_.manager->informers().For<ReplicaSet>().AddHandler(std::move(listener), Duration::zero());
  plane_.Run(1s);

  ScaleTo3();
  EXPECT_EQ(Cache().Get(kRsa)->spec.replicas, 2) << "the local store only follows";

  // 5. The local store has it, and finds it by its namespace.
  ASSERT_TRUE(StepUntil([&] { return Cache().Get(kRsa)->spec.replicas == 3; }));
  ASSERT_EQ(Cache().List("nsa").size(), 1u);
  EXPECT_EQ(Cache().List("nsa")[0]->metadata.name, "rsa");
  EXPECT_TRUE(Cache().List("nsb").empty());
  EXPECT_EQ(Queue().size(), 0u) << "the store comes first, then the handlers";

  // 6. The key is in the work queue, once, however often it is named.
  ASSERT_TRUE(StepUntil([&] { return Queue().size() == 1; }));
  Queue().Add(kRsa);
  Queue().Add(kRsa);
  EXPECT_EQ(Queue().size(), 1u);
  EXPECT_EQ(Pods().size(), 2u) << "handlers do not act";

  // 7. A worker takes it and creates one pod, which names its owner.
  const auto known = Pods();
  ASSERT_TRUE(StepUntil([&] { return Pods().size() == 3; }));
  EXPECT_EQ(Rsa().status.replicas, 2) << "the status says what the cache shows";
  for (const Pod& pod : Pods()) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const Pod& old) { return old.metadata.uid == pod.metadata.uid; }))
      continue;
    ASSERT_EQ(pod.metadata.owner_references.size(), 1u);
    const OwnerReference& owner = pod.metadata.owner_references[0];
    EXPECT_EQ(owner.api_version + " " + owner.kind + " " + owner.name, "apps/v1 ReplicaSet rsa");
    EXPECT_EQ(owner.uid, Rsa().metadata.uid);
    EXPECT_TRUE(owner.controller.value_or(false));
    EXPECT_TRUE(pod.metadata.name.starts_with("rsa-"));
  }

  // 8. The pod arrives through its own watch; its handler finds the owner and queues the owner's key.
  ASSERT_TRUE(StepUntil([&] { return PodCache().List("nsa").size() == 3; }));
  EXPECT_EQ(Rsa().status.replicas, 2);
  ASSERT_TRUE(StepUntil([&] { return Queue().size() + Queue().processing() > 0; }));

  // 9. The second reconcile counts three pods; then the loop is at rest.
  ASSERT_TRUE(StepUntil([&] { return Rsa().status.replicas == 3; }));
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard[0], "2 -> 3");
  plane_.Run(5s);
  const std::string version = Rsa().metadata.resource_version;
  plane_.Run(10min);
  EXPECT_EQ(Rsa().metadata.resource_version, version);
  EXPECT_EQ(Pods().size(), 3u);
  EXPECT_EQ(Queue().size() + Queue().processing(), 0u);
}

// The larger circle, in which the test plays scheduler and node.
TEST_F(ControlLoopTest, FromADeploymentToItsReplacedPod) {
  plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  plane_.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: nsa}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
)");
  const auto sets = [&] { return plane_.List<ReplicaSet>("nsa", "app=web"); };
  const auto pods = [&] { return plane_.List<Pod>("nsa", "app=web"); };
  const auto deployment = [&] { return plane_.Get<Deployment>("nsa", "web"); };

  ASSERT_TRUE(StepUntil([&] { return sets().size() == 1; }));
  EXPECT_EQ(sets()[0].metadata.owner_references.at(0).kind, "Deployment");
  EXPECT_TRUE(pods().empty()) << "the Deployment controller makes no pods";
  ASSERT_TRUE(StepUntil([&] { return pods().size() == 1; }));
  const Pod first = pods()[0];
  EXPECT_EQ(first.metadata.owner_references.at(0).name, sets()[0].metadata.name);
  EXPECT_EQ(first.spec.node_name, "") << "the ReplicaSet controller places no pods";

  // The scheduler sets the node, the node starts the pod and reports.
  const auto bound =
      plane_.client->Dynamic(KindRefOf<Pod>())
          .CreateSubresource("nsa", first.metadata.name, "binding",
                             json::Object{{"metadata", json::Object{{"name", first.metadata.name}}},
                                          {"target", json::Object{{"kind", "Node"}, {"name", "n1"}}}});
  ASSERT_TRUE(bound) << bound.error().ToString();
  EXPECT_EQ(plane_.Get<Pod>("nsa", first.metadata.name).spec.node_name, "n1");
  plane_.SetPod(first, "Running", true);
  ASSERT_TRUE(StepUntil([&] { return sets()[0].status.ready_replicas == 1; }));
  ASSERT_TRUE(StepUntil([&] { return deployment().status.available_replicas == 1; }));

  // It ends, is no longer counted, and is replaced.
  plane_.SetPod(first, "Failed", false, 1);
  ASSERT_TRUE(StepUntil([&] { return pods().size() == 2; }));
  ASSERT_TRUE(StepUntil([&] { return deployment().status.available_replicas == 0; }));
  plane_.Settle();
  EXPECT_EQ(deployment().status.available_replicas, 1);
  EXPECT_EQ(sets()[0].status.replicas, 1);
}

}  // namespace
}  // namespace flyball::controllers
