#include "cli/kubectl/apply/three_way.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cli {
namespace {

json::Value J(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

const api::TypeInfo* Deployment() {
  return api::FindBuiltinKind("apps", "v1", "Deployment")->type;
}

TEST(ThreeWayPatch, LeavesAloneWhatOthersSet) {
  const auto patch =
      ThreeWayPatch(nullptr, J(R"({"a":1,"b":1})"), J(R"({"a":2})"), J(R"({"a":1,"b":1,"c":9})"));
  EXPECT_EQ(patch, J(R"({"a":2,"b":null})"));
}

TEST(ThreeWayPatch, IsEmptyWhenNothingIsToDo) {
  EXPECT_TRUE(ThreeWayPatch(nullptr, J(R"({"a":1})"), J(R"({"a":1})"), J(R"({"a":1,"c":9})")).empty());
}

TEST(PatchesConflict, WhereBothSetAFieldToOtherValues) {
  const auto conflict = [](std::string_view a, std::string_view b) {
    return PatchesConflict(Deployment(), J(a), J(b));
  };
  EXPECT_TRUE(conflict(R"({"spec":{"replicas":1}})", R"({"spec":{"replicas":2}})"));
  EXPECT_FALSE(conflict(R"({"spec":{"replicas":1}})", R"({"spec":{"paused":true}})"));
  const std::string pod =
      R"({"spec":{"template":{"spec":{"containers":[{"name":"NAME","image":"IMAGE"}]}}}})";
  const auto with = [&](const char* name, const char* image) {
    std::string text = pod;
    text.replace(text.find("NAME"), 4, name);
    return text.replace(text.find("IMAGE"), 5, image);
  };
  EXPECT_TRUE(conflict(with("a", "x"), with("a", "y")));
  EXPECT_FALSE(conflict(with("a", "x"), with("b", "y")));
}

TEST(ThreeWayPatch, MergesContainersByName) {
  const auto before =
      J(R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x:1"},{"name":"b"}]}}}})");
  const auto after = J(R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x:2"}]}}}})");
  const auto there = J(R"({"spec":{"template":{"spec":{"containers":[
      {"name":"a","image":"x:1","terminationMessagePath":"/dev/termination-log"},{"name":"b"},{"name":"injected"}]}}}})");
  EXPECT_EQ(ThreeWayPatch(Deployment(), before, after, there),
            J(R"({"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[
                {"name":"a","image":"x:2"},{"$patch":"delete","name":"b"}]}}}})"));
}

TEST(ThreeWayPatch, RetainsTheKeysOfAUnion) {
  const auto patch =
      ThreeWayPatch(Deployment(), J(R"({"spec":{}})"), J(R"({"spec":{"strategy":{"type":"Recreate"}}})"),
                    J(R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})"));
  EXPECT_EQ(patch, J(R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})"));
}

TEST(ThreeWayPatch, RetainsTheKeysOfAUnionAlsoWhenTheServerAddedSome) {
  const auto wanted = J(R"({"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}}}})");
  const auto there = J(R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})");
  EXPECT_EQ(ThreeWayPatch(Deployment(), wanted, wanted, there),
            J(R"({"spec":{"strategy":{"$retainKeys":["rollingUpdate"]}}})"));
}

}  // namespace
}  // namespace flyball::cli
