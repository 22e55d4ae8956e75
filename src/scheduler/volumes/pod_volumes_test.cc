// Pods with volume claims, through the whole scheduler. The volume binder and provisioners are played by the
// tests.
#include "scheduler/volumes/pod_volumes.h"

#include <gtest/gtest.h>

#include "json/yaml/yaml.h"
#include "scheduler/testing/scheduler_fixture.h"

namespace flyball::scheduler {
namespace {

using namespace std::chrono_literals;

class PodVolumesTest : public SchedulerTest {
 protected:
  template <typename T>
  void Make(const std::string& yaml) {
    const auto parsed = json::ParseYaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().ToString();
    T object;
    ASSERT_TRUE(FromJson(*parsed, &object));
    const auto made = client_.Create(object);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  void MakeClass(const std::string& provisioner, const std::string& more = "") {
    Make<StorageClass>("{metadata: {name: waits}, provisioner: " + provisioner +
                       ", volumeBindingMode: WaitForFirstConsumer" + more + "}");
  }
  // A volume that only one node has.
  void MakeVolume(const std::string& name, const std::string& node, const std::string& more = "",
                  const std::string& mode = "ReadWriteOnce") {
    Make<PersistentVolume>(
        "{metadata: {name: " + name + more + "}, spec: {capacity: {storage: 1Gi}, accessModes: [" + mode +
        "], "
        "storageClassName: waits, persistentVolumeReclaimPolicy: Retain, local: {path: /data}, nodeAffinity: "
        "{required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, "
        "values: [" +
        node + "]}]}]}}}}");
    auto volume = client_.Get<PersistentVolume>("", name);
    volume->status.phase = "Available";
    ASSERT_TRUE(client_.UpdateStatus(*volume));
  }
  void MakeClaim(const std::string& name, const std::string& mode = "ReadWriteOnce",
                 const std::string& kind = "waits") {
    Make<PersistentVolumeClaim>("{metadata: {name: " + name + ", namespace: default}, spec: {accessModes: [" +
                                mode + "], storageClassName: " + kind +
                                ", resources: {requests: {storage: 1Gi}}}}");
  }
  void MakeUser(const std::string& name, const std::string& claim) {
    executor_.RunFor(1s);  // what was made before is known
    Make<Pod>("{metadata: {name: " + name +
              ", namespace: default}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, "
              "persistentVolumeClaim: {claimName: " +
              claim + "}}]}}");
    executor_.RunFor(2s);
  }
  // What the volume binder does.
  void Bind(const std::string& claim_name, const std::string& volume) {
    auto claim = client_.Get<PersistentVolumeClaim>("default", claim_name);
    claim->spec.volume_name = volume;
    claim->metadata.annotations[kBindCompleted] = "yes";
    ASSERT_TRUE(client_.Update(*claim));
    executor_.RunFor(2s);
  }
  std::string ReservedFor(const std::string& volume) {
    const auto found = client_.Get<PersistentVolume>("", volume);
    return found && found->spec.claim_ref ? found->spec.claim_ref->name : "";
  }
  std::string SelectedNode(const std::string& claim) {
    const auto found = client_.Get<PersistentVolumeClaim>("default", claim);
    const auto& annotations = found->metadata.annotations;
    return annotations.contains(kSelectedNode) ? annotations.at(kSelectedNode) : "";
  }
};

TEST_F(PodVolumesTest, APodGoesWhereItsVolumeIs) {
  for (const char* node : {"n1", "n2", "n3"}) MakeNode(node, "4");
  MakeClass("kubernetes.io/no-provisioner");
  MakeVolume("v2", "n2");
  MakeClaim("c");
  MakeUser("p", "c");
  EXPECT_EQ(ReservedFor("v2"), "c");
  EXPECT_EQ(Get("p").spec.node_name, "") << "not before the claim is bound";
  Bind("c", "v2");
  EXPECT_EQ(Get("p").spec.node_name, "n2");
}

TEST_F(PodVolumesTest, TwoPodsDoNotGetTheSameVolume) {
  MakeNode("n1", "4");
  MakeClass("kubernetes.io/no-provisioner");
  MakeVolume("v1", "n1");
  MakeClaim("c1");
  MakeClaim("c2");
  MakeUser("p1", "c1");
  MakeUser("p2", "c2");
  EXPECT_EQ(ReservedFor("v1"), "c1");
  EXPECT_TRUE(
      Events("FailedScheduling")
          .at(0)
          .starts_with("0/1 nodes are available: 1 node(s) didn't find available persistent volumes to "
                       "bind."));
  MakeVolume("v2", "n1");
  executor_.RunFor(2s);
  EXPECT_EQ(ReservedFor("v2"), "c2");
}

TEST_F(PodVolumesTest, AProvisionerIsToldTheNode) {
  MakeNode("n1", "4");
  MakeClass("x.example.com");
  MakeClaim("c");
  MakeUser("p", "c");
  EXPECT_EQ(SelectedNode("c"), "n1");
  EXPECT_EQ(Get("p").spec.node_name, "");
  MakeVolume("made", "n1");
  Bind("c", "made");
  EXPECT_EQ(Get("p").spec.node_name, "n1");
}

TEST_F(PodVolumesTest, AProvisionerThatGivesUpIsGivenAnotherChance) {
  MakeNode("n1", "4");
  MakeClass("x.example.com");
  MakeClaim("c");
  MakeUser("p", "c");
  auto claim = client_.Get<PersistentVolumeClaim>("default", "c");
  claim->metadata.annotations.erase(kSelectedNode);
  ASSERT_TRUE(client_.Update(*claim));
  executor_.RunFor(1s);
  EXPECT_EQ(Events("FailedScheduling").at(0),
            "binding rejected: binding volumes: provisioning failed for PVC \"default/c\"");
  executor_.RunFor(1min);
  EXPECT_EQ(SelectedNode("c"), "n1");
}

TEST_F(PodVolumesTest, ClassesMayBeForSomeNodesOnly) {
  MakeNode("n1", "4");
  MakeClass("x.example.com",
            ", allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [n2]}]}]");
  MakeClaim("c");
  MakeUser("p", "c");
  EXPECT_EQ(SelectedNode("c"), "");
  MakeNode("n2", "4");
  executor_.RunFor(1min);
  EXPECT_EQ(SelectedNode("c"), "n2");
}

TEST_F(PodVolumesTest, WhatIsMissingIsSaid) {
  MakeNode("n1", "4");
  MakeUser("p", "absent");
  EXPECT_TRUE(Events("FailedScheduling")
                  .at(0)
                  .starts_with("0/1 nodes are available: persistentvolumeclaim \"absent\" not found."));
  Make<StorageClass>("{metadata: {name: now}, provisioner: x.example.com}");
  MakeClaim("c", "ReadWriteOnce", "now");
  MakeUser("q", "c");
  EXPECT_TRUE(Events("FailedScheduling")
                  .at(1)
                  .starts_with("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."));
}

TEST_F(PodVolumesTest, BoundVolumesTieAPodToTheirNodeAndZone) {
  for (const char* name : {"n1", "n2"}) MakeNode(name, "4");
  for (const char* name : {"n1", "n2"}) {
    auto node = client_.Get<Node>("", name);
    node->metadata.labels["topology.kubernetes.io/zone"] = std::string("zone-") + name;
    ASSERT_TRUE(client_.Update(*node));
  }
  MakeClass("x.example.com");
  MakeVolume("v", "n1", ", labels: {topology.kubernetes.io/zone: zone-n2__zone-n3}");
  MakeClaim("c");
  Bind("c", "v");
  MakeUser("p", "c");
  EXPECT_TRUE(Events("FailedScheduling")
                  .at(0)
                  .starts_with("0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node "
                               "affinity, 1 node(s) had no available volume zone."));
}

TEST_F(PodVolumesTest, AClaimForOnePodServesOne) {
  MakeNode("n1", "4");
  MakeClass("x.example.com");
  MakeVolume("v", "n1", "", "ReadWriteOncePod");
  MakeClaim("c", "ReadWriteOncePod");
  Bind("c", "v");
  MakeUser("p", "c");
  EXPECT_EQ(Get("p").spec.node_name, "n1");
  MakeUser("q", "c");
  EXPECT_EQ(Get("q").spec.node_name, "");
  EXPECT_NE(Events("FailedScheduling").at(0).find("ReadWriteOncePod access mode"), std::string::npos);
  ASSERT_TRUE(client_.Delete<Pod>("default", "p", {.grace_period_seconds = 0}));
  executor_.RunFor(1min);
  EXPECT_EQ(Get("q").spec.node_name, "n1");
}

}  // namespace
}  // namespace flyball::scheduler
