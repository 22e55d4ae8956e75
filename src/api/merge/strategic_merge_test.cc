#include "api/merge/strategic_merge.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/testing/growth.h"
#include "json/json.h"

namespace flyball::api {
namespace {

json::Value Doc(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

const TypeInfo& MergedType(std::string_view group, std::string_view version, std::string_view kind) {
  return *FindBuiltinKind(group, version, kind)->type;
}

std::string MergePod(std::string_view spec, std::string_view patch) {
  const std::string object = R"({"spec":)" + std::string(spec) + "}";
  auto merged =
      StrategicMerge(MergedType("", "v1", "Pod"), Doc(object), Doc(R"({"spec":)" + std::string(patch) + "}"));
  return merged ? json::Write((*merged)["spec"]) : merged.error().ToString();
}

std::string MergeMeta(std::string_view metadata, std::string_view patch) {
  auto merged =
      StrategicMerge(MergedType("", "v1", "ConfigMap"), Doc(R"({"metadata":)" + std::string(metadata) + "}"),
                     Doc(R"({"metadata":)" + std::string(patch) + "}"));
  return merged ? json::Write((*merged)["metadata"]) : merged.error().ToString();
}

TEST(StrategicMergeTest, ObjectsMergeAndNullDeletes) {
  EXPECT_EQ(MergeMeta(R"({"name":"a","labels":{"x":"1","y":"2"}})", R"({"labels":{"x":null,"z":"3"}})"),
            R"({"name":"a","labels":{"y":"2","z":"3"}})");
  EXPECT_EQ(MergeMeta(R"({"name":"a","labels":{"x":"1"}})", R"({"labels":null})"), R"({"name":"a"})");
}

TEST(StrategicMergeTest, NullsOfANewObjectAreDropped) {
  EXPECT_EQ(MergeMeta(R"({})", R"({"labels":{"x":null,"z":"3"}})"), R"({"labels":{"z":"3"}})");
}

TEST(StrategicMergeTest, ItemsMergeByKeyAndNewOnesComeFirst) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a","image":"a:1","tty":true},{"name":"b","image":"b:1"}]})",
                     R"({"containers":[{"name":"a","image":"a:2"}]})"),
            R"({"containers":[{"name":"a","image":"a:2","tty":true},{"name":"b","image":"b:1"}]})");
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"c"}]})"),
            R"({"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})");
}

TEST(StrategicMergeTest, ItemsOfThePatchKeepItsOrderAndOthersTheirPlace) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
                     R"({"containers":[{"name":"b","image":"x"},{"name":"d"}]})"),
            R"({"containers":[{"name":"a"},{"name":"b","image":"x"},{"name":"d"},{"name":"c"}]})");
}

TEST(StrategicMergeTest, ListsWithoutStrategyAreReplaced) {
  EXPECT_EQ(MergePod(R"({"tolerations":[{"key":"k"}]})", R"({"tolerations":[{"key":"z"}]})"),
            R"({"tolerations":[{"key":"z"}]})");
}

TEST(StrategicMergeTest, DeleteDirectiveTakesItemsByKey) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                     R"({"containers":[{"name":"a","$patch":"delete"},{"name":"gone","$patch":"delete"}]})"),
            R"({"containers":[{"name":"b"}]})");
}

TEST(StrategicMergeTest, ReplaceDirectiveReplacesTheList) {
  EXPECT_EQ(MergePod(R"({"volumes":[{"name":"v"}]})",
                     R"({"volumes":[{"$patch":"replace"},{"name":"w","emptyDir":{}}]})"),
            R"({"volumes":[{"name":"w","emptyDir":{}}]})");
}

TEST(StrategicMergeTest, DirectivesOnObjects) {
  EXPECT_EQ(MergeMeta(R"({"labels":{"a":"1","b":"2"}})", R"({"labels":{"$patch":"replace","c":"3"}})"),
            R"({"labels":{"c":"3"}})");
  EXPECT_EQ(MergeMeta(R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"delete"}})"), R"({"labels":{}})");
}

// With nothing to replace, upstream drops the object that carries the directive.
TEST(StrategicMergeTest, DirectiveOnAnAbsentObjectDropsIt) {
  EXPECT_EQ(MergeMeta(R"({"name":"a"})", R"({"labels":{"$patch":"replace","only":"me"}})"),
            R"({"name":"a"})");
}

TEST(StrategicMergeTest, RetainKeysClearsTheRest) {
  EXPECT_EQ(
      MergePod(R"({"volumes":[{"name":"v","emptyDir":{}}]})",
               R"({"volumes":[{"name":"v","$retainKeys":["name","configMap"],"configMap":{"name":"c"}}]})"),
      R"({"volumes":[{"name":"v","configMap":{"name":"c"}}]})");
  EXPECT_EQ(MergePod(R"({"volumes":[{"name":"v"}]})",
                     R"({"volumes":[{"name":"v","$retainKeys":["name"],"emptyDir":{}}]})"),
            "BadRequest (400): invalid patch format of retainKeys");
}

TEST(StrategicMergeTest, SetElementOrderOrdersTheMergedList) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                     R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],
                         "containers":[{"name":"b","image":"b:2"}]})"),
            R"({"containers":[{"name":"b","image":"b:2"},{"name":"a"}]})");
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
                     R"({"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]})"),
            R"({"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]})");
}

TEST(StrategicMergeTest, SetElementOrderMustHoldThePatchsItems) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"}]})",
                     R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]})"),
            " (500): The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder "
            "list:\n[map[name:a]]\n");
}

TEST(StrategicMergeTest, ScalarListsMergeAsSets) {
  EXPECT_EQ(MergeMeta(R"({"finalizers":["a","b"]})", R"({"finalizers":["c","a"]})"),
            R"({"finalizers":["c","a","b"]})");
  EXPECT_EQ(MergeMeta(R"({"finalizers":["a","b"]})", R"({"$deleteFromPrimitiveList/finalizers":["a"]})"),
            R"({"finalizers":["b"]})");
  EXPECT_EQ(MergeMeta(R"({"finalizers":["a","b"]})",
                      R"({"$setElementOrder/finalizers":["b","c"],"finalizers":["c"],
                          "$deleteFromPrimitiveList/finalizers":["a"]})"),
            R"({"finalizers":["b","c"]})");
}

TEST(StrategicMergeTest, ErrorsAreUpstreams) {
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"noname","tty":true}]})"),
            " (500): map: map[image:noname tty:true] does not contain declared merge key: name");
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":"a","$patch":"bogus"}]})"),
            " (500): unknown patch type: bogus in map: map[$patch:bogus name:a]");
  EXPECT_EQ(MergePod(R"({"containers":[{"name":"a"}]})", R"({"containers":["x"]})"),
            " (500): list element types are not identical: [[map[name:a]] [x]]");
  EXPECT_EQ(MergePod(R"({"containers":[]})", R"({"$setElementOrder/containers":"x"})"),
            " (500): expected a []interface {}, but received a string");
  EXPECT_EQ(MergePod(R"({"containers":[]})", R"({"$deleteFromPrimitiveList":["x"]})"),
            "BadRequest (400): invalid patch format of primitive list");
}

TEST(StrategicMergeTest, ValuesOfAnotherKindAreReplaced) {
  EXPECT_EQ(MergePod(R"({"containers":[]})", R"({"containers":"x","nodeName":1})"),
            R"({"containers":"x","nodeName":1})");
}

TEST(StrategicMergeTest, UnknownFieldsAreTakenOver) {
  EXPECT_EQ(MergePod(R"({})", R"({"bogus":{"a":1}})"), R"({"bogus":{"a":1}})");
  EXPECT_EQ(MergePod(R"({"bogus":{"b":1}})", R"({"bogus":{"a":1}})"),
            " (500): unable to find api field in struct PodSpec for the json field \"bogus\"");
}

TEST(StrategicMergeTest, DeepPatchesDoNotExhaustTheStack) {
  std::string deep = "1";
  for (int i = 0; i < 5000; ++i) deep = R"({"a":)" + deep + "}";
  EXPECT_TRUE(StrategicMerge(MergedType("", "v1", "Pod"), Doc(R"({"spec":{}})"), Doc(deep)));
}

json::Value ManyVariables(int from, int to, std::string_view value) {
  json::Array variables;
  for (int i = from; i < to; ++i)
    variables.push_back(json::Object{{"name", "V" + std::to_string(i)}, {"value", value}});
  return json::Object{
      {"spec", json::Object{
                   {"containers", json::Array{json::Object{{"name", "c"}, {"env", std::move(variables)}}}}}}};
}

TEST(StrategicMergeTest, ListsOfVeryManyItemsMerge) {
  constexpr int kMany = 40'000;
  const TypeInfo& pod = MergedType("", "v1", "Pod");
  const json::Value live = ManyVariables(0, kMany, "old");
  const auto env = [](const json::Value& object) -> const json::Array& {
    return object["spec"]["containers"].as_array()[0]["env"].as_array();
  };
  const auto merged = StrategicMerge(pod, live, ManyVariables(kMany / 2, kMany + kMany / 2, "new"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(env(*merged).size(), kMany + kMany / 2u);

  json::Value ordered = ManyVariables(0, kMany, "new");
  json::Array order;
  for (int i = 0; i < kMany; ++i) order.push_back(json::Object{{"name", "V" + std::to_string(i)}});
  ordered["spec"]["containers"].as_array()[0]["$setElementOrder/env"] = order;
  const auto in_order = StrategicMerge(pod, live, ordered);
  ASSERT_TRUE(in_order);
  EXPECT_EQ(env(*in_order).back()["value"], json::Value("new"));

  json::Value deleting = ManyVariables(0, kMany, "new");
  for (auto& item : deleting["spec"]["containers"].as_array()[0]["env"].as_array()) item["$patch"] = "delete";
  const auto deleted = StrategicMerge(pod, live, deleting);
  ASSERT_TRUE(deleted);
  EXPECT_TRUE(env(*deleted).empty());

  json::Array finalizers;
  for (int i = 0; i < kMany; ++i) finalizers.push_back("example.com/f" + std::to_string(i));
  const json::Value meta = json::Object{{"metadata", json::Object{{"finalizers", finalizers}}}};
  const auto scalars = StrategicMerge(pod, meta, meta);
  ASSERT_TRUE(scalars);
  EXPECT_EQ((*scalars)["metadata"]["finalizers"].size(), kMany + 0u);
}

using Documents = std::pair<json::Value, json::Value>;  // live, patch

// Each of these searched a list for each item of another: 40,000 on 40,000 took up to 23 seconds.
double MergeGrowth(const std::function<Documents(int)>& documents) {
  return GrowthOverEightfold(2'500, [&](int size) -> std::function<void()> {
    return [both = documents(size)] {
      EXPECT_TRUE(StrategicMerge(MergedType("", "v1", "Pod"), both.first, both.second));
    };
  });
}

json::Value& EnvOwner(json::Value& pod) {
  return pod["spec"]["containers"].as_array()[0];
}

TEST(StrategicMergeTest, MergingLongListsTakesTimeInProportionToThem) {
  EXPECT_LT(
      MergeGrowth([](int size) {
        return Documents{ManyVariables(0, size, "old"), ManyVariables(size / 2, size + size / 2, "new")};
      }),
      kMostGrowthOverEightfold);
}

TEST(StrategicMergeTest, OrderingLongListsTakesTimeInProportionToThem) {
  EXPECT_LT(MergeGrowth([](int size) {
              Documents both{ManyVariables(0, size, "old"), ManyVariables(0, size, "new")};
              json::Array order;
              for (int i = 0; i < size; ++i) order.push_back(json::Object{{"name", "V" + std::to_string(i)}});
              EnvOwner(both.second)["$setElementOrder/env"] = order;
              return both;
            }),
            kMostGrowthOverEightfold);
}

TEST(StrategicMergeTest, DeletingFromLongListsTakesTimeInProportionToThem) {
  EXPECT_LT(MergeGrowth([](int size) {
              Documents both{ManyVariables(0, size, "old"), ManyVariables(0, size, "new")};
              for (auto& item : EnvOwner(both.second)["env"].as_array()) item["$patch"] = "delete";
              return both;
            }),
            kMostGrowthOverEightfold);
}

TEST(StrategicMergeTest, MergingLongSetsTakesTimeInProportionToThem) {
  EXPECT_LT(MergeGrowth([](int size) {
              json::Array finalizers;
              for (int i = 0; i < size; ++i) finalizers.push_back("example.com/f" + std::to_string(i));
              const json::Value meta = json::Object{{"metadata", json::Object{{"finalizers", finalizers}}}};
              return Documents{meta, meta};
            }),
            kMostGrowthOverEightfold);
}

}  // namespace
}  // namespace flyball::api
