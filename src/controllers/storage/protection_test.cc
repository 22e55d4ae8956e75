// Volumes and classes of attributes stay while they are used, and go when they are not.
#include "api/types/core.h"
#include "api/types/storage.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class ProtectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"persistentvolume-protection-controller",
                       "volumeattributesclass-protection-controller"};
    plane_.StartControllers(options);
  }
  testing::ControlPlane plane_;
};

constexpr const char* kVolume = R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d.example.com, volumeHandle: h}, volumeAttributesClassName: fast}
)";
constexpr const char* kClass = R"(
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: fast}
driverName: d.example.com
parameters: {iops: "1"}
)";

TEST_F(ProtectionTest, AVolumeThatIsNotBoundCanBeDeleted) {
  plane_.Create(kVolume);
  plane_.MergePatch<PersistentVolume>("", "v", "status: {phase: Bound}", "status");
  ASSERT_TRUE(plane_.client->Delete<PersistentVolume>("", "v"));
  plane_.Run(10s);
  EXPECT_TRUE(plane_.Exists<PersistentVolume>("", "v"));
  plane_.MergePatch<PersistentVolume>("", "v", "status: {phase: Released}", "status");
  plane_.Run(10s);
  EXPECT_FALSE(plane_.Exists<PersistentVolume>("", "v"));
}

TEST_F(ProtectionTest, AVolumeGetsItsProtectionBack) {
  plane_.Create(kVolume);
  plane_.MergePatch<PersistentVolume>("", "v", "metadata: {finalizers: null}");
  plane_.Run(10s);
  EXPECT_EQ(plane_.Get<PersistentVolume>("", "v").metadata.finalizers,
            std::vector<std::string>{"kubernetes.io/pv-protection"});
}

TEST_F(ProtectionTest, AClassStaysAsLongAsAVolumeNamesIt) {
  plane_.Create(kClass);
  plane_.Create(kVolume);
  plane_.Run(10s);
  ASSERT_TRUE(plane_.client->Delete<VolumeAttributesClass>("", "fast"));
  plane_.Run(10s);
  EXPECT_TRUE(plane_.Exists<VolumeAttributesClass>("", "fast"));
  ASSERT_TRUE(plane_.client->Delete<PersistentVolume>("", "v"));
  plane_.Run(10s);
  EXPECT_FALSE(plane_.Exists<VolumeAttributesClass>("", "fast"));
}

}  // namespace
}  // namespace flyball::controllers
