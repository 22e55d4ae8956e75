// Volumes of CSI drivers are attached to the nodes of their pods, and detached when no pod uses them.
#include <algorithm>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "controller/objects/csi_names.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr char kUniqueName[] = "kubernetes.io/csi/d.example.com^h";

class AttachDetachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MakeNode("n1");
    MakeNode("n2");
    plane_.Create(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: c, uid: "", kind: PersistentVolumeClaim, apiVersion: v1}
  csi: {driver: d.example.com, volumeHandle: h}
)");
    plane_.Create(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c, namespace: default}
spec: {volumeName: v, storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)");
    ControllersOptions options;
    options.enabled = {"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller"};
    plane_.StartControllers(options);
    plane_.Run(30s);
  }

  void MakeNode(const std::string& name) {
    plane_.Create("apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
                  ", annotations: {volumes.kubernetes.io/controller-managed-attach-detach: \"true\"}}");
    SetReady(name, true);
  }
  void SetReady(const std::string& name, bool ready) {
    plane_.MergePatch<Node>("", name,
                            std::string("status: {conditions: [{type: Ready, status: \"") +
                                (ready ? "True" : "Unknown") + "\"}]}",
                            "status");
  }
  void MakePod(const std::string& name, const std::string& node) {
    plane_.Create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                  ", namespace: default}\nspec: {nodeName: " + node +
                  ", containers: [{name: c, image: x}], volumes: [{name: v, persistentVolumeClaim: "
                  "{claimName: c}}]}");
    plane_.Run(5s);
  }
  void DeletePod(const std::string& name) {
    ASSERT_TRUE(plane_.client->Delete<Pod>("default", name, {.grace_period_seconds = 0}));
    plane_.Run(5s);
  }
  static std::string IdOn(const std::string& node) { return CsiAttachmentName("d.example.com", "h", node); }
  bool HasAttachment(const std::string& node) { return plane_.Exists<VolumeAttachment>("", IdOn(node)); }
  // What a driver's external-attacher says.
  void Attached(const std::string& node) {
    plane_.MergePatch<VolumeAttachment>("", IdOn(node), "status: {attached: true}", "status");
    plane_.Run(5s);
  }
  void InUse(const std::string& node, bool in_use) {
    plane_.MergePatch<Node>("", node,
                            std::string("status: {volumesInUse: ") +
                                (in_use ? std::string("[\"") + kUniqueName + "\"]" : "null") + "}",
                            "status");
    plane_.Run(5s);
  }
  std::vector<std::string> AttachedTo(const std::string& node) {
    std::vector<std::string> names;
    for (const AttachedVolume& volume : plane_.Get<Node>("", node).status.volumes_attached)
      names.push_back(volume.name);
    return names;
  }
  std::vector<std::string> Messages(const std::string& reason) {
    std::vector<std::string> messages;
    for (const Event& event : plane_.List<Event>("default"))
      if (event.reason == reason)
        messages.push_back(event.involved_object.name + ": " + event.message + " (" + event.source.component +
                           ")");
    std::sort(messages.begin(), messages.end());
    return messages;
  }

  testing::ControlPlane plane_;
};

TEST_F(AttachDetachTest, AVolumeIsAttachedAndDetached) {
  EXPECT_FALSE(HasAttachment("n1"));
  MakePod("a", "n1");
  const auto asked = plane_.Get<VolumeAttachment>("", IdOn("n1"));
  EXPECT_EQ(asked.spec.attacher, "d.example.com");
  EXPECT_EQ(asked.spec.node_name, "n1");
  EXPECT_EQ(asked.spec.source.persistent_volume_name, "v");
  EXPECT_TRUE(AttachedTo("n1").empty());
  Attached("n1");
  EXPECT_EQ(AttachedTo("n1"), std::vector<std::string>{kUniqueName});
  EXPECT_EQ(Messages("SuccessfulAttachVolume"),
            std::vector<std::string>{
                "a: AttachVolume.Attach succeeded for volume \"v\"  (attachdetach-controller)"});
  InUse("n1", true);
  DeletePod("a");
  // Its node has not unmounted it yet.
  plane_.Run(5min);
  EXPECT_TRUE(HasAttachment("n1"));
  EXPECT_EQ(AttachedTo("n1"), std::vector<std::string>{kUniqueName});
  InUse("n1", false);
  EXPECT_FALSE(HasAttachment("n1"));
  EXPECT_TRUE(AttachedTo("n1").empty());
}

TEST_F(AttachDetachTest, ADriverThatNeedsNoAttachingIsNotAsked) {
  plane_.Create(
      "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: d.example.com}\n"
      "spec: {attachRequired: false}");
  MakePod("a", "n1");
  EXPECT_FALSE(HasAttachment("n1"));
}

TEST_F(AttachDetachTest, AVolumeIsForOneNodeAtATime) {
  MakePod("a", "n1");
  Attached("n1");
  MakePod("b", "n2");
  plane_.Run(1min);
  EXPECT_FALSE(HasAttachment("n2"));
  EXPECT_EQ(
      Messages("FailedAttachVolume"),
      std::vector<std::string>{"b: Waiting for detach for volume \"v\" Volume is already used by pod(s) a "
                               "(attachdetach-controller)"});
  DeletePod("a");
  EXPECT_FALSE(HasAttachment("n1"));
  EXPECT_TRUE(HasAttachment("n2"));
}

TEST_F(AttachDetachTest, AFinishedPodUsesNothing) {
  MakePod("a", "n1");
  Attached("n1");
  plane_.SetPod(plane_.Get<Pod>("default", "a"), "Succeeded", false);
  plane_.Run(5s);
  EXPECT_FALSE(HasAttachment("n1"));
}

TEST_F(AttachDetachTest, ANodeThatIsAwayLosesItsVolumesAfterSixMinutes) {
  MakePod("a", "n1");
  Attached("n1");
  InUse("n1", true);
  SetReady("n1", false);
  DeletePod("a");
  plane_.Run(5min + 30s);
  EXPECT_TRUE(HasAttachment("n1"));
  plane_.Run(1min);
  EXPECT_FALSE(HasAttachment("n1"));
}

TEST_F(AttachDetachTest, ANodeOutOfServiceLosesThemAtOnce) {
  MakePod("a", "n1");
  Attached("n1");
  InUse("n1", true);
  plane_.MergePatch<Node>("", "n1",
                          "spec: {taints: [{key: node.kubernetes.io/out-of-service, effect: NoExecute}]}");
  DeletePod("a");
  EXPECT_FALSE(HasAttachment("n1"));
}

TEST_F(AttachDetachTest, ErrorsOfTheDriverAreTold) {
  MakePod("a", "n1");
  plane_.MergePatch<VolumeAttachment>(
      "", IdOn("n1"), "status: {attached: false, attachError: {message: no more slots}}", "status");
  plane_.Run(5s);
  EXPECT_EQ(Messages("FailedAttachVolume"),
            std::vector<std::string>{
                "a: AttachVolume.Attach failed for volume \"v\" : no more slots (attachdetach-controller)"});
}

TEST_F(AttachDetachTest, SilenceOfTheDriverIsToldAfterTwoMinutes) {
  MakePod("a", "n1");
  plane_.Run(1min + 50s);
  EXPECT_TRUE(Messages("FailedAttachVolume").empty());
  plane_.Run(15s);
  EXPECT_EQ(Messages("FailedAttachVolume"),
            std::vector<std::string>{"a: AttachVolume.Attach failed for volume \"v\" : timed out waiting for "
                                     "external-attacher of d.example.com CSI driver to attach volume h "
                                     "(attachdetach-controller)"});
}

}  // namespace
}  // namespace flyball::controllers
