#include "api/types/core.h"
#include "api/types/storage.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class VolumeBinderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"persistentvolume-binder-controller", "persistentvolume-protection-controller",
                       "persistentvolumeclaim-protection-controller", "persistentvolume-expander-controller"};
    plane_.StartControllers(options);
  }
  void Volume(const std::string& name, const std::string& size, const std::string& more = "") {
    plane_.Create("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name +
                  ", labels: {set: " + name + "}}\nspec: {capacity: {storage: " + size +
                  "}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/x}" + more + "}\n");
  }
  void Claim(const std::string& name, const std::string& size, const std::string& more = "") {
    plane_.Create(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name +
        ", namespace: default}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " +
        size + "}}" + more + "}\n");
  }
  std::string ClaimState(const std::string& name) {
    const auto claim = plane_.Get<PersistentVolumeClaim>("default", name);
    return claim.status.phase + " " + claim.spec.volume_name;
  }
  std::string VolumeState(const std::string& name) {
    return plane_.Get<PersistentVolume>("", name).status.phase;
  }
  testing::ControlPlane plane_;
};

constexpr const char* kNoClass = ", storageClassName: ''";

TEST_F(VolumeBinderTest, TakesTheSmallestVolumeThatIsLargeEnough) {
  Volume("small", "1Gi");
  Volume("medium", "3Gi");
  Volume("large", "10Gi");
  plane_.Run(5s);
  EXPECT_EQ(VolumeState("large"), "Available");
  Claim("two", "2Gi", kNoClass);
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("two"), "Bound medium");
  EXPECT_EQ(VolumeState("medium"), "Bound");
  EXPECT_EQ(plane_.Get<PersistentVolumeClaim>("default", "two").status.capacity.at("storage").ToString(),
            "3Gi");
}

TEST_F(VolumeBinderTest, AGrownClaimWaitsForWhoeverExpandsIt) {
  plane_.Create(
      "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: grows}, provisioner: "
      "x.example.com, "
      "allowVolumeExpansion: true}");
  Volume("v", "2Gi", ", storageClassName: grows");
  plane_.Run(5s);
  Claim("c", "1Gi", ", storageClassName: grows");
  plane_.Run(5s);
  ASSERT_EQ(ClaimState("c"), "Bound v");
  EXPECT_TRUE(plane_.EventsOf("default", "c").empty());
  auto claim = plane_.Get<PersistentVolumeClaim>("default", "c");
  claim.spec.resources.requests["storage"] = *api::Quantity::Parse("3Gi");
  ASSERT_TRUE(plane_.client->Update(claim));
  plane_.Run(5s);
  EXPECT_EQ(plane_.EventsOf("default", "c"),
            std::vector<std::string>{
                "Normal ExternalExpanding waiting for an external controller to expand this PVC"});
}

TEST_F(VolumeBinderTest, BindsWhenAVolumeComes) {
  Claim("c", "2Gi", kNoClass);
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("c"), "Pending ");
  Volume("v", "2Gi");
  plane_.Run(20s);
  EXPECT_EQ(ClaimState("c"), "Bound v");
}

TEST_F(VolumeBinderTest, ANewVolumeGoesToTheClaimItWasMadeFor) {
  Claim("waiting", "1Gi", kNoClass);
  plane_.Run(5s);
  Volume("v", "2Gi");
  plane_.Run(1s);
  Claim("named", "1Gi", std::string(kNoClass) + ", volumeName: v");
  plane_.Run(20s);
  EXPECT_EQ(ClaimState("named"), "Bound v");
  EXPECT_EQ(ClaimState("waiting"), "Pending ");
}

TEST_F(VolumeBinderTest, AVolumeMadeInTheSameSecondAsAWaitingClaimIsLeftToItsOwnClaim) {
  Claim("waiting", "1Gi", kNoClass);
  plane_.Run(100ms);
  Volume("v", "2Gi");
  plane_.Run(100ms);
  Claim("named", "1Gi", std::string(kNoClass) + ", volumeName: v");
  plane_.Run(20s);
  EXPECT_EQ(ClaimState("named"), "Bound v");
  EXPECT_EQ(ClaimState("waiting"), "Pending ");
}

TEST_F(VolumeBinderTest, NamesLabelsAndReservationsDecide) {
  Volume("a", "5Gi");
  Volume("b", "5Gi");
  Volume("r", "5Gi", ", claimRef: {namespace: default, name: reserved}");
  Claim("named", "1Gi", std::string(kNoClass) + ", volumeName: b");
  Claim("labelled", "1Gi", std::string(kNoClass) + ", selector: {matchLabels: {set: a}}");
  Claim("reserved", "1Gi", kNoClass);
  plane_.Run(20s);
  EXPECT_EQ(ClaimState("named"), "Bound b");
  EXPECT_EQ(ClaimState("labelled"), "Bound a");
  EXPECT_EQ(ClaimState("reserved"), "Bound r");
}

TEST_F(VolumeBinderTest, AVolumeThatDoesNotFitIsNotTaken) {
  Volume("v", "1Gi");
  Claim("c", "2Gi", std::string(kNoClass) + ", volumeName: v");
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("c"), "Pending v");
  EXPECT_EQ(VolumeState("v"), "Available");
}

TEST_F(VolumeBinderTest, AReleasedVolumeIsFreeOnlyWhenItsReferenceIsTakenOff) {
  Volume("v", "1Gi");
  Claim("c", "1Gi", kNoClass);
  plane_.Run(20s);
  ASSERT_TRUE(plane_.client->Delete<PersistentVolumeClaim>("default", "c"));
  plane_.Run(5s);
  EXPECT_FALSE(plane_.Exists<PersistentVolumeClaim>("default", "c"));
  EXPECT_EQ(VolumeState("v"), "Released");
  plane_.MergePatch<PersistentVolume>("", "v", "spec: {claimRef: null}");
  plane_.Run(5s);
  EXPECT_EQ(VolumeState("v"), "Available");
}

TEST_F(VolumeBinderTest, AClaimWhoseVolumeVanishedIsLost) {
  Volume("v", "1Gi");
  Claim("c", "1Gi", kNoClass);
  plane_.Run(20s);
  ASSERT_TRUE(plane_.client->Delete<PersistentVolume>("", "v"));
  plane_.Run(5s);
  EXPECT_EQ(VolumeState("v"), "Bound");
  plane_.MergePatch<PersistentVolume>("", "v", "metadata: {finalizers: null}");
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("c"), "Lost v");
}

TEST_F(VolumeBinderTest, AClassMayWaitForAPodAndTheDefaultIsFilledIn) {
  plane_.Create(
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: wait}\nprovisioner: "
      "kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n");
  Volume("v", "1Gi", ", storageClassName: wait");
  Claim("c", "1Gi", ", storageClassName: wait");
  Claim("early", "1Gi");
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("c"), "Pending ");
  plane_.MergePatch<PersistentVolumeClaim>(
      "default", "c", "metadata: {annotations: {volume.kubernetes.io/selected-node: n1}}");
  plane_.Run(5s);
  EXPECT_EQ(ClaimState("c"), "Bound v");
  plane_.MergePatch<StorageClass>(
      "", "wait", "metadata: {annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}");
  plane_.Run(5s);
  EXPECT_EQ(plane_.Get<PersistentVolumeClaim>("default", "early").spec.storage_class_name.value_or(""),
            "wait");
}

}  // namespace
}  // namespace flyball::controllers
