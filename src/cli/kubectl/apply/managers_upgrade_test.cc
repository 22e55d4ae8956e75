#include "cli/kubectl/apply/managers_upgrade.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cli {
namespace {

json::Value Managers(std::string_view text) {
  return json::Parse(text).value();
}

constexpr const char* kUpdated = R"({"manager":"kubectl-client-side-apply","operation":"Update","fieldsV1":{
    "f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:data":{"f:b":{}}}})";

TEST(HandOver, MakesTheClientSideEntryOneOfServerSideApply) {
  const json::Value after = HandOver(Managers("[" + std::string(kUpdated) + "]"), "kubectl");
  ASSERT_EQ(after.size(), 1u);
  const json::Value& entry = after.as_array()[0];
  EXPECT_EQ(entry["manager"].string_or(""), "kubectl");
  EXPECT_EQ(entry["operation"].string_or(""), "Apply");
}

TEST(HandOver, UnitesWithWhatTheManagerHasApplied) {
  const std::string applied = R"({"manager":"kubectl","operation":"Apply","fieldsV1":{"f:data":{"f:a":{}}}})";
  const json::Value after = HandOver(Managers("[" + applied + "," + kUpdated + "]"), "kubectl");
  ASSERT_EQ(after.size(), 1u);
  const json::Value& fields = after.as_array()[0]["fieldsV1"];
  EXPECT_EQ(fields["f:data"], Managers(R"({"f:a":{},"f:b":{}})"));
  EXPECT_TRUE(fields["f:metadata"].is_object());
}

TEST(HandOver, LeavesOtherManagersAlone) {
  const json::Value others = Managers(R"([{"manager":"kube-controller-manager","operation":"Update",
      "subresource":"status","fieldsV1":{}},{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:data":{}}}])");
  EXPECT_EQ(HandOver(others, "kubectl"), others);
}

}  // namespace
}  // namespace flyball::cli
