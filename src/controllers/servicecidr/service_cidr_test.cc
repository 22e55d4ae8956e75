#include "api/types/certificates.h"
#include "api/types/networking.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class ServiceCidrTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"service-cidr-controller"};
    plane_.StartControllers(options);
  }
  void Cidr(const std::string& name, const std::string& network) {
    plane_.Create("apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: " + name +
                  "}\nspec: {cidrs: [" + network + "]}\n");
  }
  testing::ControlPlane plane_;
};

constexpr const char* kAddress = R"(
apiVersion: networking.k8s.io/v1
kind: IPAddress
metadata: {name: 10.9.0.5, labels: {ipaddress.kubernetes.io/managed-by: ipallocator.k8s.io, ipaddress.kubernetes.io/ip-family: IPv4}}
spec: {parentRef: {resource: services, namespace: default, name: s}}
)";

TEST_F(ServiceCidrTest, IsReadyAndProtected) {
  Cidr("more", "10.9.0.0/24");
  plane_.Run(5s);
  const auto cidr = plane_.Get<ServiceCIDR>("", "more");
  ASSERT_TRUE(IsConditionTrue(cidr.status.conditions, "Ready"));
  EXPECT_EQ(cidr.metadata.finalizers, std::vector<std::string>{"networking.k8s.io/service-cidr-finalizer"});
}

TEST_F(ServiceCidrTest, StaysWhileAnAddressIsInItAndInNoOther) {
  Cidr("more", "10.9.0.0/24");
  plane_.Create(kAddress);
  plane_.Run(5s);
  ASSERT_TRUE(plane_.client->Delete<ServiceCIDR>("", "more"));
  plane_.Run(30s);
  const auto held = plane_.Get<ServiceCIDR>("", "more");
  const auto* ready = FindCondition(held.status.conditions, "Ready");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status + " " + ready->reason, "False Terminating");
  Cidr("wider", "10.9.0.0/16");
  plane_.Run(30s);
  EXPECT_FALSE(plane_.Exists<ServiceCIDR>("", "more"));
}

TEST_F(ServiceCidrTest, GoesAfterAGracePeriodIfNothingNeedsIt) {
  Cidr("more", "10.9.0.0/24");
  plane_.Run(5s);
  ASSERT_TRUE(plane_.client->Delete<ServiceCIDR>("", "more"));
  plane_.Run(5s);
  EXPECT_TRUE(plane_.Exists<ServiceCIDR>("", "more"));
  plane_.Run(10s);
  EXPECT_FALSE(plane_.Exists<ServiceCIDR>("", "more"));
}

}  // namespace
}  // namespace flyball::controllers
