// Pods leave devices whose taints they do not tolerate.
#include "api/types/core.h"
#include "api/types/resource.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class DeviceTaintEvictionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"device-taint-eviction-controller"};
    plane_.StartControllers(options);
    plane_.Create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpus}}]}}
)");
    plane_.Create(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  nodeName: n1
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: c}]
)");
  }
  void Allocate(const std::string& tolerations = "") {
    const Pod pod = plane_.Get<Pod>("default", "p");
    plane_.MergePatch<ResourceClaimObject>(
        "default", "c",
        "status: {allocation: {devices: {results: [{request: r, driver: d.example.com, pool: p, device: x, "
        "tolerations: [" +
            tolerations + "]}]}}, reservedFor: [{resource: pods, name: p, uid: " + pod.metadata.uid + "}]}",
        "status");
  }
  void Taint(const std::string& effect) {
    plane_.Create(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: t}\nspec: {deviceSelector: "
        "{driver: d.example.com, pool: p, device: x}, taint: {key: broken, value: \"yes\", effect: " +
        effect + "}}\n");
    plane_.Run(3s);
  }
  bool Evicted() { return !plane_.Exists<Pod>("default", "p") || Deleting(); }
  bool Deleting() { return IsDeleting(plane_.Get<Pod>("default", "p").metadata); }
  Condition Progress() {
    const auto rule = plane_.Get<DeviceTaintRule>("", "t");
    return rule.status.conditions.empty() ? Condition{} : rule.status.conditions[0];
  }
  testing::ControlPlane plane_;
};

TEST_F(DeviceTaintEvictionTest, ARuleEvictsThePodAndSaysSo) {
  Allocate();
  plane_.Run(3s);
  EXPECT_FALSE(Evicted());
  Taint("NoExecute");
  EXPECT_TRUE(Evicted());
  EXPECT_EQ(plane_.EventsOf("default", "p"),
            std::vector<std::string>{"Normal DeviceTaintManagerEviction Marking for deletion"});
  plane_.Run(30s);
  EXPECT_EQ(Progress().type, "EvictionInProgress");
  EXPECT_EQ(Progress().status, "False");
  EXPECT_EQ(Progress().reason, "Completed");
  EXPECT_EQ(Progress().message, "1 pod evicted since starting the controller.");
}

TEST_F(DeviceTaintEvictionTest, ATolerationLetsItStayForAWhile) {
  Allocate("{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 60}");
  Taint("NoExecute");
  EXPECT_FALSE(Evicted());
  EXPECT_EQ(Progress().reason, "PodsPendingEviction");
  EXPECT_EQ(Progress().message, "1 pod needs to be evicted in 1 namespace.");
  plane_.Run(50s);
  EXPECT_FALSE(Evicted());
  plane_.Run(20s);
  EXPECT_TRUE(Evicted());
}

TEST_F(DeviceTaintEvictionTest, ATaintThatGoesInTimeIsForgiven) {
  Allocate("{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 60}");
  Taint("NoExecute");
  ASSERT_TRUE(plane_.client->Delete<DeviceTaintRule>("", "t"));
  plane_.Run(120s);
  EXPECT_FALSE(Evicted());
  EXPECT_EQ(plane_.EventsOf("default", "p"),
            std::vector<std::string>{"Normal DeviceTaintManagerEviction Cancelling deletion"});
}

TEST_F(DeviceTaintEvictionTest, ATolerationWithoutEndLetsItStay) {
  Allocate("{operator: Exists, effect: NoExecute}");
  Taint("NoExecute");
  plane_.Run(60s);
  EXPECT_FALSE(Evicted());
  EXPECT_EQ(Progress().reason, "NotStarted");
}

TEST_F(DeviceTaintEvictionTest, OtherEffectsEvictNobody) {
  Allocate();
  Taint("NoSchedule");
  EXPECT_FALSE(Evicted());
  EXPECT_EQ(Progress().reason, "OtherEffect");
  EXPECT_EQ(Progress().message, "Eviction only happens for the NoExecute effect.");
}

TEST_F(DeviceTaintEvictionTest, WithoutAnEffectTheRuleSaysWhatItWouldDo) {
  Allocate();
  Taint("None");
  EXPECT_FALSE(Evicted());
  EXPECT_EQ(Progress().reason, "NoEffect");
  EXPECT_EQ(
      Progress().message,
      "0 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if "
      "the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule "
      "to trigger an update.");
}

TEST_F(DeviceTaintEvictionTest, ATaintOfTheSliceCountsToo) {
  Allocate();
  plane_.Create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: x, taints: [{key: hot, effect: NoExecute}]}]
)");
  plane_.Run(3s);
  EXPECT_TRUE(Evicted());
}

}  // namespace
}  // namespace flyball::controllers
