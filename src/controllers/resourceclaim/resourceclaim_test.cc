// Claims are made for pods from templates, and come back when the pods are done.
#include "api/types/core.h"
#include "api/types/resource.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class ResourceClaimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"resourceclaim-controller"};
    plane_.StartControllers(options);
  }
  void CreatePod(const std::string& name, const std::string& claims, const std::string& more = "") {
    plane_.Create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: default}\nspec:\n" + more +
        "  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]\n  resourceClaims: [" +
        claims + "]\n");
    plane_.Run(5s);
  }
  void CreateTemplate() {
    plane_.Create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t, namespace: default}
spec:
  metadata: {labels: {from: t}, annotations: {note: x}}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpus}}]}}
)");
  }
  void CreateClaim() {
    plane_.Create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: own, namespace: default, finalizers: [resource.kubernetes.io/delete-protection]}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpus}}]}}
)");
  }
  void Allocate(const std::string& name, const std::string& reserved_for) {
    plane_.MergePatch<ResourceClaimObject>("default", name,
                                           "status: {allocation: {devices: {results: [{request: r, driver: "
                                           "d.example.com, pool: p, device: x}]}}, "
                                           "reservedFor: [" +
                                               reserved_for + "]}",
                                           "status");
  }
  std::string ReservationOf(const std::string& name) {
    const Pod pod = plane_.Get<Pod>("default", name);
    return "{resource: pods, name: " + name + ", uid: " + pod.metadata.uid + "}";
  }
  testing::ControlPlane plane_;
};

constexpr const char* kFromTemplate = "{name: gpu, resourceClaimTemplateName: t}";
constexpr const char* kOwnClaim = "{name: gpu, resourceClaimName: own}";

TEST_F(ResourceClaimTest, AClaimIsMadeFromTheTemplate) {
  CreateTemplate();
  CreatePod("p", kFromTemplate);
  const auto claims = plane_.List<ResourceClaimObject>("default");
  ASSERT_EQ(claims.size(), 1u);
  const ObjectMeta& meta = claims[0].metadata;
  EXPECT_TRUE(meta.name.starts_with("p-gpu-")) << meta.name;
  EXPECT_EQ(meta.labels, (std::map<std::string, std::string>{{"from", "t"}}));
  EXPECT_EQ(meta.annotations, (std::map<std::string, std::string>{
                                  {"note", "x"}, {"resource.kubernetes.io/pod-claim-name", "gpu"}}));
  ASSERT_EQ(meta.owner_references.size(), 1u);
  EXPECT_EQ(meta.owner_references[0].name, "p");
  EXPECT_FALSE(meta.owner_references[0].block_owner_deletion);
  const Pod pod = plane_.Get<Pod>("default", "p");
  ASSERT_EQ(pod.status.resource_claim_statuses.size(), 1u);
  EXPECT_EQ(pod.status.resource_claim_statuses[0].name, "gpu");
  EXPECT_EQ(pod.status.resource_claim_statuses[0].resource_claim_name, meta.name);
}

TEST_F(ResourceClaimTest, AMissingTemplateIsReportedAndWaitedFor) {
  CreatePod("p", kFromTemplate);
  EXPECT_EQ(
      plane_.EventsOf("default", "p"),
      std::vector<std::string>{"Warning FailedResourceClaimCreation PodResourceClaim gpu: resource claim "
                               "template \"t\": resourceclaimtemplate.resource.k8s.io \"t\" not found"});
  CreateTemplate();
  plane_.Run(5s);
  EXPECT_EQ(plane_.List<ResourceClaimObject>("default").size(), 1u);
}

TEST_F(ResourceClaimTest, ADeletedClaimIsMadeAgain) {
  CreateTemplate();
  CreatePod("p", kFromTemplate);
  const std::string first = plane_.List<ResourceClaimObject>("default").at(0).metadata.name;
  ASSERT_TRUE(plane_.client->Delete<ResourceClaimObject>("default", first));
  plane_.Run(5s);
  const auto claims = plane_.List<ResourceClaimObject>("default");
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_NE(claims[0].metadata.name, first);
  EXPECT_EQ(plane_.Get<Pod>("default", "p").status.resource_claim_statuses.at(0).resource_claim_name,
            claims[0].metadata.name);
}

TEST_F(ResourceClaimTest, TheClaimOfAFinishedPodIsDeleted) {
  CreateTemplate();
  CreatePod("p", kFromTemplate);
  plane_.SetPod(plane_.Get<Pod>("default", "p"), "Succeeded", false);
  plane_.Run(5s);
  EXPECT_TRUE(plane_.List<ResourceClaimObject>("default").empty());
}

TEST_F(ResourceClaimTest, DevicesAreFreeWhenTheLastPodIsGone) {
  CreateClaim();
  CreatePod("a", kOwnClaim);
  CreatePod("b", kOwnClaim);
  Allocate("own", ReservationOf("a") + ", " + ReservationOf("b"));
  plane_.Run(5s);
  EXPECT_EQ(plane_.Get<ResourceClaimObject>("default", "own").status.reserved_for.size(), 2u);
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "a", {.grace_period_seconds = 0}));
  plane_.Run(5s);
  const ResourceClaimObject shared = plane_.Get<ResourceClaimObject>("default", "own");
  ASSERT_EQ(shared.status.reserved_for.size(), 1u);
  EXPECT_EQ(shared.status.reserved_for[0].name, "b");
  EXPECT_TRUE(shared.status.allocation);
  plane_.SetPod(plane_.Get<Pod>("default", "b"), "Failed", false, 1);
  plane_.Run(5s);
  const ResourceClaimObject free = plane_.Get<ResourceClaimObject>("default", "own");
  EXPECT_TRUE(free.status.reserved_for.empty());
  EXPECT_FALSE(free.status.allocation);
  EXPECT_TRUE(free.metadata.finalizers.empty());
}

TEST_F(ResourceClaimTest, AnAllocatedClaimNobodyUsesCanBeDeleted) {
  CreateClaim();
  Allocate("own", "");
  ASSERT_TRUE(plane_.client->Delete<ResourceClaimObject>("default", "own"));
  plane_.Run(5s);
  EXPECT_FALSE(plane_.Exists<ResourceClaimObject>("default", "own"));
}

TEST_F(ResourceClaimTest, AClaimIsReservedForAPodThatAlreadyHasANode) {
  CreateClaim();
  Allocate("own", "");
  CreatePod("p", kOwnClaim, "  nodeName: n1\n");
  const ResourceClaimObject claim = plane_.Get<ResourceClaimObject>("default", "own");
  ASSERT_EQ(claim.status.reserved_for.size(), 1u);
  EXPECT_EQ(claim.status.reserved_for[0].name, "p");
}

TEST_F(ResourceClaimTest, LongNamesAreCutInProportion) {
  CreateTemplate();
  const std::string name(60, 'p');
  CreatePod(name, kFromTemplate);
  const auto claims = plane_.List<ResourceClaimObject>("default");
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_TRUE(claims[0].metadata.name.starts_with(std::string(52, 'p') + "-gp")) << claims[0].metadata.name;
}

}  // namespace
}  // namespace flyball::controllers
