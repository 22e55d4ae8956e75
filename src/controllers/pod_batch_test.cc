#include "controller/pods/pod_batch.h"

#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

class PodBatchTest : public ::testing::Test {
 protected:
  PodBatchTest() {
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, "
        "image: i}]}}");
  }
  PodPtr Seen() { return std::make_shared<const Pod>(plane_.Get<Pod>("default", "p")); }
  BatchResult Delete(const PodPtr& pod, DeleteIf which) {
    const PodBatch batch{*plane_.client, recorder_, TargetOf(*pod)};
    return DeletePods(batch, {pod}, nullptr, which);
  }
  bool IsDeleted() {
    const auto pod = plane_.client->Get<Pod>("default", "p");
    return !pod || IsDeleting(pod->metadata);
  }

  testing::ControlPlane plane_;
  EventRecorder recorder_{*plane_.client, "test"};
};

TEST_F(PodBatchTest, AnUnreadyPodThatHasBecomeReadyIsNotDeletedForBeingUnready) {
  const PodPtr seen = Seen();
  plane_.SetPod(*seen, "Running", true);
  const BatchResult result = Delete(seen, DeleteIf::kUnreadyAsSeen);
  ASSERT_FALSE(result.status);
  EXPECT_TRUE(result.status.error().Is(Reason::kConflict)) << result.status.error().ToString();
  EXPECT_FALSE(IsDeleted());
  EXPECT_EQ(Delete(Seen(), DeleteIf::kUnreadyAsSeen).succeeded, 1);
  EXPECT_TRUE(IsDeleted());
}

TEST_F(PodBatchTest, WhereReadinessDoesNotCountAChangedPodIsDeletedToo) {
  const PodPtr seen = Seen();
  plane_.SetPod(*seen, "Running", true);
  EXPECT_EQ(Delete(seen, DeleteIf::kAny).succeeded, 1);
  EXPECT_TRUE(IsDeleted());
}

}  // namespace
}  // namespace flyball::controllers
