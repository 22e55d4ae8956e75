#include "api/schema/feature_gates.h"

#include <gtest/gtest.h>

#include <set>

#include "api/kubernetes_version.h"
#include "api/schema/disabled_fields.h"
#include "api/schema/schema.h"
#include "json/json.h"

namespace flyball::api {
namespace {

std::string Refusal(FeatureGates& gates, const char* text) {
  const Status set = gates.Set(text);
  return set ? "" : set.error().message();
}

TEST(FeatureGatesTest, HaveTheDefaultsOfARelease) {
  const FeatureGates now(kKubernetesMinor), before(34);
  EXPECT_TRUE(now.Enabled("HPAScaleToZero"));
  EXPECT_FALSE(before.Enabled("HPAScaleToZero"));
  EXPECT_FALSE(before.Enabled("HPAGeneration"));  // did not exist
  EXPECT_FALSE(now.Enabled("EmptyDirVolumeMode"));
  EXPECT_FALSE(now.Enabled("NoSuchGate"));
}

TEST(FeatureGatesTest, AreSetAsUpstreamSetsThem) {
  FeatureGates gates(kKubernetesMinor);
  EXPECT_EQ(Refusal(gates, "EmptyDirVolumeMode=true,HPAScaleToZero=false"), "");
  EXPECT_TRUE(gates.Enabled("EmptyDirVolumeMode"));
  EXPECT_FALSE(gates.Enabled("HPAScaleToZero"));
  EXPECT_EQ(gates.Changed(), (std::vector<std::string>{"EmptyDirVolumeMode=true", "HPAScaleToZero=false"}));
  EXPECT_EQ(Refusal(gates, "NoSuchGate=true"), "unrecognized feature gate: NoSuchGate");
  EXPECT_EQ(Refusal(gates, "EmptyDirVolumeMode"), "missing bool value for EmptyDirVolumeMode");
  EXPECT_EQ(
      Refusal(gates, "EmptyDirVolumeMode=perhaps"),
      "invalid value of EmptyDirVolumeMode=perhaps, err: strconv.ParseBool: parsing \"perhaps\": invalid "
      "syntax");
  EXPECT_EQ(Refusal(gates, "DRAExtendedResource=false"),
            "cannot set feature gate DRAExtendedResource to false, feature is locked to true");
}

TEST(FeatureGatesTest, ASwitchThatIsNotImplementedIsRefused) {
  FeatureGates gates(kKubernetesMinor);
  EXPECT_EQ(Refusal(gates, "CPUManagerPolicyAlphaOptions=false"), "");
  EXPECT_EQ(
      Refusal(gates, "CPUManagerPolicyAlphaOptions=true"),
      "cannot set feature gate CPUManagerPolicyAlphaOptions=true: flyball does not implement this switch; "
      "it can only be false");
}

TEST(FeatureGatesTest, AllAlphaTurnsOnWhatHasAnEffect) {
  FeatureGates gates(kKubernetesMinor);
  EXPECT_EQ(Refusal(gates, "AllAlpha=true"), "");
  EXPECT_TRUE(gates.Enabled("EmptyDirVolumeMode"));
  EXPECT_FALSE(gates.Enabled("CPUManagerPolicyAlphaOptions"));
}

const TypeInfo& PodType() {
  return *FindKindType("", "v1", "Pod");
}

json::Value PodWithMode() {
  return *json::Parse(R"({"spec":{"volumes":[{"name":"v","emptyDir":{"mode":511,"medium":"Memory"}}]}})");
}

TEST(DisabledFieldsTest, AreDroppedFromNewObjects) {
  json::Value pod = PodWithMode();
  DropDisabledFields(PodType(), pod, nullptr);
  EXPECT_EQ(json::Write(pod), R"({"spec":{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}})");
}

TEST(DisabledFieldsTest, StayWhereTheObjectUsesThem) {
  const json::Value old = PodWithMode(), unused = *json::Parse(R"({"spec":{}})");
  json::Value pod = PodWithMode();
  DropDisabledFields(PodType(), pod, &old);
  EXPECT_EQ(pod, old);
  DropDisabledFields(PodType(), pod, &unused);
  EXPECT_TRUE(pod["spec"]["volumes"].as_array()[0]["emptyDir"]["mode"].is_null());
}

}  // namespace
}  // namespace flyball::api
