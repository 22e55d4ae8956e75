// Generic ephemeral volumes: a claim that is made for a pod, and goes with it.
#include "api/types/core.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr const char* kScratchPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [{name: c, image: i}]
  volumes:
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {kind: scratch}}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)";

class EphemeralVolumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"ephemeral-volume-controller", "garbage-collector-controller"};
    plane_.StartControllers(options);
  }
  testing::ControlPlane plane_;
};

TEST_F(EphemeralVolumeTest, TheClaimIsThePods) {
  plane_.Create(kScratchPod);
  plane_.Run(2s);
  const auto claim = plane_.Get<PersistentVolumeClaim>("default", "p-scratch");
  EXPECT_EQ(claim.metadata.labels.at("kind"), "scratch");
  ASSERT_EQ(claim.metadata.owner_references.size(), 1u);
  EXPECT_EQ(claim.metadata.owner_references[0].kind, "Pod");
  EXPECT_TRUE(claim.metadata.owner_references[0].controller.value_or(false));
  EXPECT_EQ(claim.spec.resources.requests.at("storage").ToString(), "1Gi");
}

TEST_F(EphemeralVolumeTest, AClaimOfAnotherIsNotTaken) {
  plane_.Create(
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p-scratch, namespace: default}, spec: "
      "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}");
  plane_.Create(kScratchPod);
  plane_.Run(5s);
  const auto events = plane_.EventsOf("default", "p");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0],
            "Warning FailedBinding ephemeral volume scratch: PVC default/p-scratch was not created for pod "
            "default/p (pod is not owner)");
}

}  // namespace
}  // namespace flyball::controllers
