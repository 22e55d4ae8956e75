#include "controllers/deployment/annotations.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr char kWeb[] = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "i:1"}]}}
)";

constexpr char kImage2[] = "spec: {template: {spec: {containers: [{name: c, image: 'i:2'}]}}}";
constexpr char kImage1[] = "spec: {template: {spec: {containers: [{name: c, image: 'i:1'}]}}}";

class DeploymentTest : public ::testing::Test {
 protected:
  const DeploymentCondition* Condition(const Deployment& d, std::string_view type) {
    return FindCondition(d.status.conditions, type);
  }
  Deployment Web() { return plane_.Get<Deployment>("default", "web"); }
  int PodsOf(const std::string& image) {
    int count = 0;
    for (const Pod& pod : plane_.List<Pod>("default"))
      if (pod.spec.containers[0].image == image) ++count;
    return count;
  }

  testing::ControlPlane plane_;
};

// The cache holds objects without managed fields; writing one back must not lose those on the server.
TEST_F(DeploymentTest, WhatIsWrittenFromTheCacheKeepsItsManagedFields) {
  plane_.Create(kWeb);
  const auto made_by = Web().metadata.managed_fields;
  ASSERT_EQ(made_by.size(), 1u);
  plane_.StartControllers();
  plane_.Settle();
  const Deployment web = Web();
  ASSERT_EQ(web.status.available_replicas, 4);
  ASSERT_EQ(web.metadata.managed_fields.size(), 2u) << "one of the user, one of the status";
  EXPECT_EQ(web.metadata.managed_fields[0].fields_v1, made_by[0].fields_v1);
}

TEST_F(DeploymentTest, BeforeAnyPodRuns) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Run(2s);
  const Deployment web = Web();
  EXPECT_EQ(web.metadata.annotations.at(kRevision), "1");
  EXPECT_EQ(web.metadata.generation, 1);
  EXPECT_EQ(web.status.observed_generation, 1);
  EXPECT_EQ(web.status.replicas, 4);
  EXPECT_EQ(web.status.unavailable_replicas, 4);
  ASSERT_EQ(web.status.conditions.size(), 2u);
  EXPECT_EQ(web.status.conditions[0].type, "Available");
  EXPECT_EQ(web.status.conditions[0].reason, "MinimumReplicasUnavailable");
  EXPECT_EQ(web.status.conditions[1].reason, "ReplicaSetUpdated");
  const auto sets = plane_.List<ReplicaSet>("default");
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(web.status.conditions[1].message, "ReplicaSet \"" + sets[0].metadata.name + "\" is progressing.");
  EXPECT_EQ(sets[0].metadata.annotations.at(kDesiredReplicas), "4");
  EXPECT_EQ(sets[0].metadata.annotations.at(kMaxReplicas), "5");
  EXPECT_EQ(sets[0].metadata.name, "web-" + sets[0].metadata.labels.at(kPodTemplateHash));
  EXPECT_EQ(plane_.EventsOf("default", "web"), std::vector{"Normal ScalingReplicaSet Scaled up replica set " +
                                                           sets[0].metadata.name + " from 0 to 4"});
}

TEST_F(DeploymentTest, RollsOverWithinItsLimits) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  EXPECT_EQ(Condition(Web(), "Progressing")->reason, "NewReplicaSetAvailable");
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  for (int i = 0; i < 40; ++i) {
    plane_.Run(1s);
    int available = 0, active = 0;
    for (const Pod& pod : plane_.List<Pod>("default")) {
      if (IsDeleting(pod.metadata)) continue;
      ++active;
      if (pod.status.phase == "Running") ++available;
    }
    EXPECT_LE(active, 5);
    EXPECT_GE(available, 3);
    plane_.RunPods();
  }
  EXPECT_EQ(PodsOf("i:2"), 4);
  EXPECT_EQ(PodsOf("i:1"), 0);
  const Deployment web = Web();
  EXPECT_EQ(web.metadata.annotations.at(kRevision), "2");
  EXPECT_EQ(web.status.updated_replicas, 4);
  EXPECT_EQ(Condition(web, "Progressing")->reason, "NewReplicaSetAvailable");
  EXPECT_EQ(plane_.List<ReplicaSet>("default").size(), 2u);
}

TEST_F(DeploymentTest, ATemplateThatComesBackIsANewRevisionOfTheSameReplicaSet) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", kImage1);
  plane_.Settle();
  EXPECT_EQ(Web().metadata.annotations.at(kRevision), "3");
  EXPECT_EQ(plane_.List<ReplicaSet>("default").size(), 2u);
  EXPECT_EQ(PodsOf("i:1"), 4);
}

TEST_F(DeploymentTest, PausedItScalesButDoesNotRoll) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", "spec: {paused: true}");
  plane_.Settle();
  EXPECT_EQ(Condition(Web(), "Progressing")->reason, "DeploymentPaused");
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 6}");
  plane_.Settle();
  EXPECT_EQ(PodsOf("i:1"), 6);
  EXPECT_EQ(PodsOf("i:2"), 0);
  plane_.MergePatch<Deployment>("default", "web", "spec: {paused: false}");
  plane_.Settle();
  EXPECT_EQ(PodsOf("i:2"), 6);
  EXPECT_EQ(PodsOf("i:1"), 0);
}

TEST_F(DeploymentTest, RecreateEndsAllOldPodsBeforeTheFirstNew) {
  plane_.StartControllers();
  plane_.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {nodeName: ghost, containers: [{name: c, image: "i:1"}]}}
)");
  plane_.Settle();
  EXPECT_EQ(PodsOf("i:1"), 3);
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  for (int i = 0; i < 20; ++i) {
    plane_.Run(1s);
    EXPECT_TRUE(PodsOf("i:1") == 0 || PodsOf("i:2") == 0);
    plane_.RunPods();
  }
  EXPECT_EQ(PodsOf("i:2"), 3);
}

TEST_F(DeploymentTest, ProgressDeadline) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Run(5min);
  EXPECT_EQ(Condition(Web(), "Progressing")->status, "True");
  plane_.Run(6min);
  EXPECT_EQ(Condition(Web(), "Progressing")->status, "False");
  EXPECT_EQ(Condition(Web(), "Progressing")->reason, "ProgressDeadlineExceeded");
  plane_.Settle();
  EXPECT_EQ(Condition(Web(), "Progressing")->reason, "NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, KeepsAsMuchHistoryAsItShould) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.MergePatch<Deployment>("default", "web", "spec: {revisionHistoryLimit: 2}");
  for (int i = 1; i <= 5; ++i) {
    plane_.MergePatch<Deployment>(
        "default", "web",
        "spec: {template: {spec: {containers: [{name: c, image: 'i:" + std::to_string(i) + "'}]}}}");
    plane_.Settle();
  }
  EXPECT_EQ(plane_.List<ReplicaSet>("default").size(), 3u);
}

TEST_F(DeploymentTest, ScalingInTheMiddleOfARolloutIsShared) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 10}");
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  plane_.Run(2s);  // new pods do not become ready: 8 old, 5 new
  EXPECT_EQ(PodsOf("i:1"), 8);
  EXPECT_EQ(PodsOf("i:2"), 5);
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 20}");
  plane_.Run(2s);
  EXPECT_EQ(PodsOf("i:1") + PodsOf("i:2"), 25);
  EXPECT_GT(PodsOf("i:1"), 8);
  plane_.Settle(100);
  EXPECT_EQ(PodsOf("i:2"), 20);
  EXPECT_EQ(PodsOf("i:1"), 0);
}

TEST_F(DeploymentTest, RestartedInTheMiddleOfARolloutItFinishes) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  for (int i = 0; i < 30; ++i) {
    plane_.executor.RunFor(20ms);
    plane_.RunPods();
    plane_.StopControllers();
    plane_.StartControllers();
  }
  plane_.Settle();
  EXPECT_EQ(PodsOf("i:2"), 4);
  EXPECT_EQ(PodsOf("i:1"), 0);
}

TEST_F(DeploymentTest, TheRollbackAnnotationBringsTemplateAndAnnotationsBack) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.MergePatch<Deployment>("default", "web", "metadata: {annotations: {cause: first, gone: later}}");
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", kImage2);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", "metadata: {annotations: {cause: second, gone: null}}");
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web",
                                "metadata: {annotations: {deprecated.deployment.rollback.to: '0'}}");
  plane_.Settle();
  EXPECT_EQ(PodsOf("i:1"), 4);
  EXPECT_EQ(Web().metadata.annotations,
            (std::map<std::string, std::string>{{kRevision, "3"}, {"cause", "first"}, {"gone", "later"}}));
  for (const ReplicaSet& rs : plane_.List<ReplicaSet>("default"))
    if (rs.spec.template_.spec.containers[0].image == "i:1") {
      EXPECT_EQ(rs.metadata.annotations.at(kRevisionHistory), "1");
    }
  const auto events = plane_.EventsOf("default", "web");
  EXPECT_EQ(events.at(0), "Normal DeploymentRollback Rolled back deployment \"web\" to revision 1");
}

TEST_F(DeploymentTest, ARollbackThatCannotBeIsReportedAndForgotten) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  const auto ask = [&](const std::string& revision) {
    plane_.MergePatch<Deployment>(
        "default", "web", "metadata: {annotations: {deprecated.deployment.rollback.to: '" + revision + "'}}");
    plane_.Settle();
    const auto events = plane_.EventsOf("default", "web");
    return events.back();
  };
  EXPECT_EQ(ask("0"), "Warning DeploymentRollbackRevisionNotFound Unable to find last revision.");
  EXPECT_EQ(ask("1"),
            "Warning DeploymentRollbackTemplateUnchanged The rollback revision contains the same template as "
            "current deployment \"web\"");
  EXPECT_FALSE(Web().metadata.annotations.contains(kRollbackTo));
  (void)ask("soon");
  EXPECT_TRUE(Web().metadata.annotations.contains(kRollbackTo)) << "no number: nobody asked for anything";
  (void)ask("9");
  EXPECT_EQ(plane_.EventsOf("default", "web").at(2),
            "Warning DeploymentRollbackRevisionNotFound Unable to find the revision to rollback to.");
}

TEST_F(DeploymentTest, ATakenNameCountsACollision) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  const std::string name = plane_.List<ReplicaSet>("default").at(0).metadata.name;
  DeleteParams orphan;
  orphan.propagation_policy = "Orphan";
  ASSERT_TRUE(plane_.client->Delete<Deployment>("default", "web", orphan));
  plane_.Settle();
  // The Deployment no longer selects it: it cannot be adopted, and its name is in the way.
  plane_.MergePatch<ReplicaSet>("default", name, "metadata: {labels: {app: other}}");
  plane_.Create(kWeb);
  plane_.Settle();
  EXPECT_EQ(Web().status.collision_count, 1);
  EXPECT_EQ(Web().status.available_replicas, 4);
  EXPECT_EQ(plane_.List<ReplicaSet>("default").size(), 2u);
}

// Upstream records the requested size when it scales, not on every reconcile.
TEST_F(DeploymentTest, AnotherStrategyAloneLeavesTheNotesOfItsReplicaSets) {
  plane_.StartControllers();
  plane_.Create(kWeb);
  plane_.Settle();
  plane_.MergePatch<Deployment>("default", "web", "spec: {strategy: {type: Recreate, rollingUpdate: null}}");
  plane_.Settle();
  EXPECT_EQ(plane_.List<ReplicaSet>("default").at(0).metadata.annotations.at(kMaxReplicas), "5");
}

}  // namespace
}  // namespace flyball::controllers
