#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr char kWebSet[] = R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web, tier: front}}, spec: {containers: [{name: c, image: i}]}}
)";

class ReplicaSetTest : public ::testing::Test {
 protected:
  testing::ControlPlane plane_;
};

TEST_F(ReplicaSetTest, MakesItsPodsAndCountsThem) {
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.Run(1s);
  const auto pods = plane_.List<Pod>("default", "app=web");
  ASSERT_EQ(pods.size(), 3u);
  EXPECT_EQ(pods[0].metadata.generate_name, "web-");
  ASSERT_EQ(pods[0].metadata.owner_references.size(), 1u);
  EXPECT_EQ(pods[0].metadata.owner_references[0].name, "web");
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.replicas, 3);
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.ready_replicas, 0);

  plane_.Settle();
  const ReplicaSetStatus status = plane_.Get<ReplicaSet>("default", "web").status;
  EXPECT_EQ(status.ready_replicas, 3);
  EXPECT_EQ(status.available_replicas, 3);
  EXPECT_EQ(status.fully_labeled_replicas, 3);
  const auto events = plane_.EventsOf("default", "web");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(events[0].starts_with("Normal SuccessfulCreate Created pod: web-")) << events[0];
}

TEST_F(ReplicaSetTest, ScalesUpAndDownAndReplacesWhatIsGone) {
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.Settle();
  plane_.MergePatch<ReplicaSet>("default", "web", "spec: {replicas: 5}");
  plane_.Settle();
  EXPECT_EQ(plane_.List<Pod>("default").size(), 5u);
  plane_.MergePatch<ReplicaSet>("default", "web", "spec: {replicas: 2}");
  plane_.Settle();
  auto pods = plane_.List<Pod>("default");
  ASSERT_EQ(pods.size(), 2u);
  ASSERT_TRUE(plane_.client->Delete(pods[0]));
  plane_.SetPod(pods[1], "Failed", false, 3);
  plane_.Settle();
  EXPECT_EQ(plane_.List<Pod>("default").size(), 3u) << "the failed one stays, and is not counted";
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.replicas, 2);
}

TEST_F(ReplicaSetTest, AdoptsWhatMatchesAndReleasesWhatNoLongerDoes) {
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: default, labels: {app: web}},"
      " spec: {containers: [{name: c, image: i}]}}");
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: default, labels: {app: none}},"
      " spec: {containers: [{name: c, image: i}]}}");
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.Settle();
  EXPECT_EQ(plane_.Get<Pod>("default", "old").metadata.owner_references.size(), 1u);
  EXPECT_TRUE(plane_.Get<Pod>("default", "other").metadata.owner_references.empty());
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.fully_labeled_replicas, 2);

  plane_.MergePatch<Pod>("default", "old", "metadata: {labels: {app: gone}}");
  plane_.Settle();
  EXPECT_TRUE(plane_.Get<Pod>("default", "old").metadata.owner_references.empty());
  EXPECT_EQ(plane_.List<Pod>("default", "app=web").size(), 3u);
}

TEST_F(ReplicaSetTest, MinReadySecondsMakesAvailableLaterThanReady) {
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.MergePatch<ReplicaSet>("default", "web", "spec: {minReadySeconds: 30}");
  plane_.Settle();
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.ready_replicas, 3);
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.available_replicas, 0);
  plane_.Run(31s);
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.available_replicas, 3);
}

TEST_F(ReplicaSetTest, BeyondOneBurst) {
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.MergePatch<ReplicaSet>("default", "web", "spec: {replicas: 1201}");
  plane_.Run(5s);
  EXPECT_EQ(plane_.List<Pod>("default").size(), 1201u);
}

TEST_F(ReplicaSetTest, AfterARestartGoesOnFromWhatThereIs) {
  plane_.StartControllers();
  plane_.Create(kWebSet);
  plane_.Settle();
  plane_.StopControllers();
  plane_.MergePatch<ReplicaSet>("default", "web", "spec: {replicas: 4}");
  ASSERT_TRUE(plane_.client->Delete(plane_.List<Pod>("default")[0]));
  plane_.RunPods();
  plane_.StartControllers();
  plane_.Settle();
  EXPECT_EQ(plane_.List<Pod>("default").size(), 4u);
  EXPECT_EQ(plane_.Get<ReplicaSet>("default", "web").status.available_replicas, 4);
}

// The older form, served by the same loop.
TEST(ReplicationControllerTest, KeepsItsNumberOfPods) {
  testing::ControlPlane plane;
  plane.StartControllers();
  plane.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: orphan, namespace: default, labels: {app: rc}}, spec: "
      "{containers: [{name: c, image: i}]}}");
  plane.Create(R"(
apiVersion: v1
kind: ReplicationController
metadata: {name: rc, namespace: default}
spec:
  replicas: 3
  selector: {app: rc}
  template: {metadata: {labels: {app: rc, tier: back}}, spec: {containers: [{name: c, image: i}]}}
)");
  plane.Settle();
  const auto rc = [&] { return plane.Get<ReplicationController>("default", "rc"); };
  EXPECT_EQ(rc().status.replicas, 3);
  EXPECT_EQ(rc().status.available_replicas, 3);
  EXPECT_EQ(rc().status.fully_labeled_replicas, 2) << "the adopted one has no tier";
  EXPECT_EQ(rc().status.observed_generation, 1);
  const Pod adopted = plane.Get<Pod>("default", "orphan");
  EXPECT_EQ(adopted.metadata.owner_references.at(0).kind, "ReplicationController");
  EXPECT_EQ(adopted.metadata.owner_references[0].api_version, "v1");
  int created = 0;
  for (const Event& event : plane.List<Event>("default"))
    if (event.reason == "SuccessfulCreate") {
      EXPECT_EQ(event.source.component, "replication-controller");
      ++created;
    }
  EXPECT_EQ(created, 2);
  plane.MergePatch<ReplicationController>("default", "rc", "spec: {replicas: 1}");
  plane.Settle();
  EXPECT_EQ(rc().status.replicas, 1);
  EXPECT_EQ(plane.List<Pod>("default").size(), 1u);
  ASSERT_TRUE(plane.client->Delete<ReplicationController>("default", "rc"));
  plane.Settle();
  ASSERT_EQ(plane.List<Pod>("default").size(), 1u) << "unless told otherwise, this kind orphans";
  EXPECT_TRUE(plane.List<Pod>("default")[0].metadata.owner_references.empty());
}

}  // namespace
}  // namespace flyball::controllers
