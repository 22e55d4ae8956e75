#include "cli/kubectl/print/sorting.h"

#include <gtest/gtest.h>

namespace flyball::cli {
namespace {

json::Value Named(const char* name, json::Value value) {
  return json::Object{{"name", name}, {"value", std::move(value)}};
}

std::string Order(const std::string& path, std::vector<json::Value> items) {
  const Status sorted =
      SortByField(path, items, [](const json::Value& item) -> const json::Value& { return item; });
  if (!sorted) return sorted.error().message();
  std::string names;
  for (const json::Value& item : items) names += std::string(item["name"].string_or(""));
  return names;
}

TEST(SortingTest, NumbersAndTextsHaveTheirOwnOrder) {
  EXPECT_EQ(Order(".value", {Named("c", 10), Named("a", 2), Named("b", 9)}), "abc");
  EXPECT_EQ(Order("{.value}", {Named("b", "pod-10"), Named("a", "pod-9")}), "ab");
}

TEST(SortingTest, QuantitiesCompareByAmount) {
  EXPECT_EQ(Order("value", {Named("c", "1Gi"), Named("a", "10Mi"), Named("b", "900Mi")}), "abc");
}

TEST(SortingTest, ItemsWithoutTheFieldComeFirst) {
  EXPECT_EQ(Order(".value.x", {Named("b", json::Object{{"x", 1}}), Named("a", nullptr)}), "ab");
}

TEST(SortingTest, AFieldThatNoItemHasIsAnError) {
  EXPECT_EQ(Order(".missing", {Named("a", 1)}),
            "couldn't find any field with path \"{.missing}\" in the list of objects");
}

}  // namespace
}  // namespace flyball::cli
