#include "api/apply/field_set.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/json.h"

namespace flyball::api {
namespace {

FieldSet Set(std::string_view fields_v1) {
  auto value = json::Parse(fields_v1);
  EXPECT_TRUE(value) << fields_v1;
  auto set = FieldSet::FromFieldsV1(*value);
  EXPECT_TRUE(set) << fields_v1;
  return set ? *set : FieldSet();
}

std::string SetText(const FieldSet& set) {
  return json::Write(set.ToFieldsV1());
}

std::string Paths(const FieldSet& set) {
  std::string out;
  set.ForEach([&](std::span<const PathElement> path) { out += PathText(path) + "\n"; });
  return out;
}

TEST(FieldSetTest, FieldsV1RoundTripsSorted) {
  EXPECT_EQ(
      SetText(Set(R"({"f:b":{},"f:a":{"k:{\"name\":\"x\"}":{"f:z":{},".":{}},"v:\"s\"":{},"i:3":{}}})")),
      R"({"f:a":{"k:{\"name\":\"x\"}":{".":{},"f:z":{}},"v:\"s\"":{},"i:3":{}},"f:b":{}})");
  EXPECT_EQ(SetText(FieldSet()), "{}");
}

TEST(FieldSetTest, KeysAreCanonicalAndSortByValue) {
  EXPECT_EQ(
      SetText(Set(
          R"({"k:{\"protocol\":\"TCP\",\"port\":443}":{},"k:{ \"port\": 80, \"protocol\":\"TCP\"}":{}})")),
      R"({"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}})");
}

TEST(FieldSetTest, UnknownTagsAreSkippedAndMalformedOnesRefused) {
  EXPECT_EQ(SetText(Set(R"({"f:a":{},"z:new":{"f:b":{}}})")), R"({"f:a":{}})");
  for (const char* bad : {R"({"f":{}})", R"({"k:x":{}})", R"({"k:{}":{}})", R"({"v:":{}})", R"({"i:a":{}})",
                          R"({"f:a":1})", R"([1])"}) {
    EXPECT_FALSE(FieldSet::FromFieldsV1(*json::Parse(bad))) << bad;
  }
}

TEST(FieldSetTest, DeepDocumentsAreRefused) {
  std::string deep = "{}";
  for (int i = 0; i < 2000; ++i) deep = R"({"f:a":)" + deep + "}";
  EXPECT_FALSE(FieldSet::FromFieldsV1(*json::Parse(deep)));
}

TEST(FieldSetTest, PathsReadAsInMessages) {
  EXPECT_EQ(
      Paths(Set(R"({"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"name\":\"x\",\"port\":8}":{},"v:1":{},"v:\"s\"":{},
                          "i:2":{}},"f:z":{}})")),
      ".a\n.z\n.a.b\n.l[name=\"x\",port=8]\n.l[=1]\n.l[=\"s\"]\n.l[2]\n");
}

TEST(FieldSetTest, MembershipIsNotInherited) {
  const FieldSet set = Set(R"({"f:a":{"f:b":{}}})");
  EXPECT_FALSE(set.HasField({"a"}));
  EXPECT_TRUE(set.HasField({"a", "b"}));
  EXPECT_FALSE(set.HasField({"a", "b", "c"}));
  EXPECT_EQ(set.size(), 1u);
}

TEST(FieldSetTest, InsertKeepsOrder) {
  FieldSet set{{"z"}, {"a", "b"}, {"a"}};
  EXPECT_EQ(SetText(set), R"({"f:a":{".":{},"f:b":{}},"f:z":{}})");
}

TEST(FieldSetTest, SetOperations) {
  const FieldSet a = Set(R"({"f:a":{".":{},"f:x":{}},"f:b":{}})");
  const FieldSet b = Set(R"({"f:a":{"f:x":{},"f:y":{}},"f:c":{}})");
  EXPECT_EQ(SetText(a.Union(b)), R"({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{},"f:c":{}})");
  EXPECT_EQ(SetText(a.Intersection(b)), R"({"f:a":{"f:x":{}}})");
  EXPECT_EQ(SetText(a.Difference(b)), R"({"f:a":{},"f:b":{}})");
  EXPECT_EQ(SetText(b.Difference(a)), R"({"f:a":{"f:y":{}},"f:c":{}})");
  EXPECT_TRUE(a.Intersects(b));
  EXPECT_FALSE(a.Intersects(Set(R"({"f:a":{"f:y":{}}})")));
  EXPECT_TRUE(a.Union(b).Contains(a));
  EXPECT_FALSE(a.Contains(b));
  EXPECT_EQ(SetText(a.Leaves()), R"({"f:a":{"f:x":{}},"f:b":{}})");
}

TEST(FieldSetTest, RecursiveDifferenceTakesWhatLiesBelow) {
  const FieldSet set = Set(R"({"f:status":{"f:a":{},"f:b":{}},"f:spec":{"f:a":{},"f:b":{}}})");
  EXPECT_EQ(SetText(set.RecursiveDifference(FieldSet({{"status"}, {"spec", "a"}}))),
            R"({"f:spec":{"f:b":{}}})");
  EXPECT_EQ(set.Difference(FieldSet({{"status"}})), set);
}

TEST(FieldSetTest, FinishMergesEqualElements) {
  FieldSet set;
  set.Append(PathElement::Field("b"), true, {});
  set.Append(PathElement::Field("a"), true, {});
  set.Append(PathElement::Field("b"), false, FieldSet({{"c"}}));
  set.Append(PathElement::Field("empty"), false, {});
  set.Finish();
  EXPECT_EQ(SetText(set), R"({"f:a":{},"f:b":{".":{},"f:c":{}}})");
}

}  // namespace
}  // namespace flyball::api
