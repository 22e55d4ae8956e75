#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class StatefulSetTest : public ::testing::Test {
 protected:
  void SetUp() override { plane_.StartControllers(); }

  void Make(const std::string& spec) {
    plane_.Create(
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: default}, spec: "
        "{serviceName: "
        "peers, selector: {matchLabels: {app: db}}, " +
        spec + "template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: 'i:1'}]}}}}");
    plane_.Run(1s);
  }
  void SetImage(const std::string& image) {
    plane_.MergePatch<StatefulSet>(
        "default", "db", "spec: {template: {spec: {containers: [{name: c, image: '" + image + "'}]}}}");
    plane_.Run(1s);
  }
  void Ready(const std::string& pod) {
    plane_.SetPod(plane_.Get<Pod>("default", pod), "Running", true);
    plane_.Run(1s);
  }
  // "db-0=i:1 db-1=i:1"; pods that are being deleted have a minus.
  std::string Pods() {
    std::string out;
    for (const Pod& pod : plane_.List<Pod>("default", "app=db"))
      out += (out.empty() ? "" : " ") + std::string(IsDeleting(pod.metadata) ? "-" : "") + pod.metadata.name +
             "=" + pod.spec.containers[0].image;
    return out;
  }
  std::string Claims() {
    std::string out;
    for (const PersistentVolumeClaim& claim : plane_.List<PersistentVolumeClaim>("default"))
      out += (out.empty() ? "" : " ") + claim.metadata.name;
    return out;
  }
  StatefulSetStatus StatusNow() { return plane_.Get<StatefulSet>("default", "db").status; }
  testing::ControlPlane plane_;
};

constexpr char kClaims[] =
    "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: "
    "{requests: "
    "{storage: 1Gi}}}}], ";

TEST_F(StatefulSetTest, OneAfterTheOtherWithTheirClaims) {
  Make(std::string("replicas: 2, ") + kClaims);
  EXPECT_EQ(Pods(), "db-0=i:1") << "the second waits for the first";
  const Pod first = plane_.Get<Pod>("default", "db-0");
  EXPECT_EQ(first.spec.hostname + "." + first.spec.subdomain, "db-0.peers");
  EXPECT_EQ(first.metadata.labels.at("apps.kubernetes.io/pod-index"), "0");
  EXPECT_EQ(first.spec.volumes.at(0).persistent_volume_claim->claim_name, "data-db-0");
  Ready("db-0");
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:1");
  Ready("db-1");
  EXPECT_EQ(Claims(), "data-db-0 data-db-1");
  const StatefulSetStatus status = StatusNow();
  EXPECT_EQ(status.ready_replicas, 2);
  EXPECT_EQ(status.current_revision, status.update_revision);
  const auto events = plane_.EventsOf("default", "db");
  EXPECT_EQ(std::count(events.begin(), events.end(),
                       "Normal SuccessfulCreate Create Claim data-db-0 Pod db-0 in StatefulSet db success"),
            1);
  EXPECT_EQ(std::count(events.begin(), events.end(),
                       "Normal SuccessfulCreate Create Pod db-0 in StatefulSet db successful"),
            1);
}

TEST_F(StatefulSetTest, ScaledDownFromTheEndKeepingClaims) {
  Make(std::string("replicas: 3, ") + kClaims);
  for (const char* pod : {"db-0", "db-1", "db-2"}) Ready(pod);
  plane_.MergePatch<StatefulSet>("default", "db", "spec: {replicas: 1}");
  plane_.Run(2s);
  EXPECT_EQ(Pods(), "db-0=i:1");
  EXPECT_EQ(Claims(), "data-db-0 data-db-1 data-db-2");
}

TEST_F(StatefulSetTest, ClaimsGoWhenThePolicySaysSo) {
  Make(std::string(
           "persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}, replicas: 2, ") +
       kClaims);
  for (const char* pod : {"db-0", "db-1"}) Ready(pod);
  plane_.MergePatch<StatefulSet>("default", "db", "spec: {replicas: 1}");
  plane_.Run(5s);
  EXPECT_EQ(Claims(), "data-db-0");
  ASSERT_TRUE(plane_.client->Delete<StatefulSet>("default", "db"));
  plane_.Run(5s);
  EXPECT_EQ(Claims(), "");
}

TEST_F(StatefulSetTest, UpdatesFromTheLastDownToThePartition) {
  Make("replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}, ");
  for (const char* pod : {"db-0", "db-1", "db-2"}) Ready(pod);
  SetImage("i:2");
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:1 db-2=i:2") << "the next waits until this one is ready";
  Ready("db-2");
  Ready("db-1");
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:2 db-2=i:2");
  EXPECT_NE(StatusNow().current_revision, StatusNow().update_revision);
  EXPECT_EQ(StatusNow().updated_replicas, 2);
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "db-0"));
  plane_.Run(1s);
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:2 db-2=i:2") << "below the partition the old revision comes back";
  Ready("db-0");
  plane_.MergePatch<StatefulSet>("default", "db", "spec: {updateStrategy: {rollingUpdate: {partition: 0}}}");
  plane_.Run(1s);
  Ready("db-0");
  EXPECT_EQ(Pods(), "db-0=i:2 db-1=i:2 db-2=i:2");
  EXPECT_EQ(StatusNow().current_revision, StatusNow().update_revision);
}

TEST_F(StatefulSetTest, ARollbackNumbersTheOldRevisionAnew) {
  Make("podManagementPolicy: Parallel, replicas: 2, updateStrategy: {type: OnDelete}, ");
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:1") << "all at once";
  SetImage("i:2");
  EXPECT_EQ(Pods(), "db-0=i:1 db-1=i:1") << "until somebody deletes them";
  SetImage("i:1");
  std::map<std::string, std::int64_t> numbers;
  for (const ControllerRevision& revision : plane_.List<ControllerRevision>("default")) {
    const json::Value& data = revision.data;
    numbers[std::string(data["spec"]["template"]["spec"]["containers"].as_array()[0]["image"].string_or(
        ""))] = revision.revision;
  }
  EXPECT_EQ(numbers, (std::map<std::string, std::int64_t>{{"i:1", 3}, {"i:2", 2}}));
}

TEST_F(StatefulSetTest, AnEndedPodComesBackUnderItsName) {
  Make("replicas: 1, ");
  Ready("db-0");
  const std::string uid = plane_.Get<Pod>("default", "db-0").metadata.uid;
  plane_.SetPod(plane_.Get<Pod>("default", "db-0"), "Failed", false, 1);
  plane_.Run(1s);
  EXPECT_NE(plane_.Get<Pod>("default", "db-0").metadata.uid, uid);
}

}  // namespace
}  // namespace flyball::controllers
