#include "json/value.h"

#include <gtest/gtest.h>

namespace flyball::json {
namespace {

// n nested arrays.
Value Nested(int n) {
  Value value;
  for (int i = 0; i < n; ++i) {
    Array outer;
    outer.push_back(std::move(value));
    value = Value(std::move(outer));
  }
  return value;
}

TEST(ValueTest, HoldsEveryKind) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(true).as_bool());
  EXPECT_EQ(Value(7).as_int(), 7);
  EXPECT_EQ(Value(-1LL).as_int(), -1);
  EXPECT_EQ(Value(4294967295u).as_int(), 4294967295);
  EXPECT_EQ(Value(0.5).as_double(), 0.5);
  EXPECT_EQ(Value(7).as_double(), 7.0);
  EXPECT_EQ(Value("text").as_string(), "text");
  EXPECT_EQ(Value(Array{1, "two"}).as_array()[1].as_string(), "two");
  EXPECT_EQ(Value(Object{{"a", 1}})["a"].as_int(), 1);
  EXPECT_EQ(sizeof(Value), 16u);
}

TEST(ValueTest, StringsOfEveryLengthSurviveCopyAndMove) {
  for (std::size_t length : {0, 1, 2, 6, 7, 13, 14, 15, 16, 100, 100000}) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i % 26);
    Value value(text);
    Value copy = value;
    Value moved = std::move(value);
    EXPECT_TRUE(value.is_null());
    EXPECT_EQ(copy.as_string(), text);
    EXPECT_EQ(moved.as_string(), text);
    EXPECT_EQ(copy, moved);
    copy = 1;
    EXPECT_EQ(copy.as_int(), 1);
    copy = moved;
    EXPECT_EQ(copy.as_string(), text);
  }
}

TEST(ValueTest, StringsMayContainZeroBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(Value(text).as_string(), text);
  EXPECT_NE(Value(text), Value("a"));
}

TEST(ValueTest, AssigningAPartOfATreeToItsRoot) {
  Value value(Object{{"inner", Object{{"x", Array{1, 2, 3}}}}});
  value = std::move(*value.FindPath({"inner", "x"}));
  EXPECT_EQ(value, Value(Array{1, 2, 3}));
  Value copied(Object{{"inner", "a string longer than fourteen bytes"}});
  copied = copied["inner"];
  EXPECT_EQ(copied.as_string(), "a string longer than fourteen bytes");
  Value& alias = copied;
  copied = alias;
  EXPECT_EQ(copied.as_string(), "a string longer than fourteen bytes");
}

TEST(ValueTest, TolerantReads) {
  const Value value(Object{{"n", 3}, {"s", "x"}, {"b", true}});
  EXPECT_EQ(value["n"].int_or(0), 3);
  EXPECT_EQ(value["s"].int_or(9), 9);
  EXPECT_EQ(value["s"].string_or(""), "x");
  EXPECT_EQ(value["none"].string_or("fallback"), "fallback");
  EXPECT_TRUE(value["b"].bool_or(false));
  EXPECT_TRUE(value["none"]["deeper"].is_null());
  EXPECT_EQ(value.FindPath({"n", "x"}), nullptr);
  EXPECT_EQ(value.FindPath({}), &value);
}

TEST(ValueTest, IndexingForWritingMakesObjects) {
  Value value;
  value["metadata"]["labels"]["app"] = "web";
  EXPECT_EQ(value, Value(Object{{"metadata", Object{{"labels", Object{{"app", "web"}}}}}}));
}

TEST(ValueTest, EqualityIgnoresTheOrderOfMembersButNotKinds) {
  EXPECT_EQ(Value(Object({{"a", 1}, {"b", 2}})), Value(Object({{"b", 2}, {"a", 1}})));
  EXPECT_NE(Value(Object({{"a", 1}, {"b", 2}})), Value(Object({{"a", 1}, {"c", 2}})));
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_NE(Value(Array{1, 2}), Value(Array{2, 1}));
  EXPECT_NE(Value(), Value(Object()));
}

TEST(ValueTest, DeepTreesNeedNoStack) {
  constexpr int kDepth = 200000;
  Value deep = Nested(kDepth);
  Value copy = deep;
  EXPECT_TRUE(copy == deep);
  EXPECT_FALSE(copy == Nested(kDepth + 1));
  Object holder{{"deep", deep}};
  Object second = holder;
  EXPECT_TRUE(second == holder);
}

TEST(ObjectTest, KeepsOrderThroughEveryChange) {
  Object object{{"c", 1}, {"a", 2}, {"b", 3}};
  object.Set("a", 20);
  object["d"] = 4;
  EXPECT_TRUE(object.Erase("c"));
  EXPECT_FALSE(object.Erase("c"));
  std::string order;
  for (const auto& [key, value] : object) order += key;
  EXPECT_EQ(order, "abd");
  EXPECT_EQ(object.Find("a")->as_int(), 20);
  object.SortKeys();
  EXPECT_EQ(object.begin()->first, "a");
}

TEST(ObjectTest, ManyMembersAreFoundAfterInsertEraseCopyAndSort) {
  constexpr int kCount = 2000;
  Object object;
  for (int i = kCount; i-- > 0;) object.Append("key-" + std::to_string(i), i);
  for (int i = 0; i < kCount; i += 3) ASSERT_TRUE(object.Erase("key-" + std::to_string(i)));
  object.Set("key-0", -1);
  const auto check = [](const Object& o) {
    EXPECT_EQ(o.Find("key-0")->as_int(), -1);
    EXPECT_EQ(o.Find("absent"), nullptr);
    for (int i = 1; i < kCount; ++i) {
      const Value* found = o.Find("key-" + std::to_string(i));
      ASSERT_EQ(found != nullptr, i % 3 != 0) << i;
      EXPECT_EQ(found ? found->as_int() : i, i);
    }
  };
  check(object);
  Object copy = object;
  check(copy);
  copy.SortKeys();
  check(copy);
  EXPECT_EQ(copy, object);
  Object moved = std::move(copy);
  check(moved);
  moved.Clear();
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(moved.Find("key-1"), nullptr);
}

TEST(ObjectTest, LaterMembersOfAnInitialiserReplaceEarlierOnes) {
  const Object object{{"a", 1}, {"b", 2}, {"a", 3}};
  EXPECT_EQ(object.size(), 2u);
  EXPECT_EQ(object.Find("a")->as_int(), 3);
}

TEST(ObjectTest, EraseIfErasesInOnePassAndKeepsTheOrder) {
  Object object;
  for (int i = 0; i < 100; ++i) object.Append("k" + std::to_string(i), i);
  object.EraseIf([](std::string_view, const Value& value) { return value.as_int() % 3 != 0; });
  ASSERT_EQ(object.size(), 34u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(object.contains("k" + std::to_string(i)), i % 3 == 0) << i;
  EXPECT_EQ(object.begin()[1].first, "k3");
  object.Append("new", true);
  EXPECT_TRUE(object.Find("new")->as_bool());
  object.EraseIf([](std::string_view, const Value&) { return true; });
  EXPECT_TRUE(object.empty());
  object.EraseIf([](std::string_view, const Value&) { return true; });
}

}  // namespace
}  // namespace flyball::json
