#include "informer/list_decoder.h"

#include <gtest/gtest.h>

#include <vector>

namespace flyball {
namespace {

constexpr char kList[] =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12","x":{"a":[]}},"items":[)"
    R"({"metadata":{"name":"a","labels":{"q":"}]\"{"}},"spec":{"list":[[1],[2,{"z":"\\"}]]}}, {"b":2},{"items":[1]})"
    R"(],"other":[{"not":"an item"}]})";

std::vector<std::string> Decode(std::string_view text, std::size_t piece, ListDecoder& decoder) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < text.size(); i += piece)
    EXPECT_TRUE(decoder.Feed(text.substr(i, piece), [&](std::string_view item) {
      items.emplace_back(item);
      return true;
    }));
  return items;
}

TEST(ListDecoderTest, ItemsComeOutWholeHoweverTheTextIsCut) {
  const std::string_view text(kList);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    ListDecoder decoder;
    const auto items = Decode(text, piece, decoder);
    ASSERT_EQ(items.size(), 3u) << "pieces of " << piece;
    EXPECT_EQ(items[0],
              R"({"metadata":{"name":"a","labels":{"q":"}]\"{"}},"spec":{"list":[[1],[2,{"z":"\\"}]]}})");
    EXPECT_EQ(items[1], R"({"b":2})");
    EXPECT_EQ(items[2], R"({"items":[1]})");
    EXPECT_EQ(decoder.metadata(), R"({"resourceVersion":"12","x":{"a":[]}})");
    EXPECT_TRUE(decoder.complete());
  }
}

TEST(ListDecoderTest, EmptyAndNullItems) {
  for (const char* text :
       {R"({"metadata":{},"items":[]})", R"({"metadata":{},"items":null})", R"({"metadata":{}})"}) {
    ListDecoder decoder;
    EXPECT_TRUE(Decode(text, 3, decoder).empty()) << text;
    EXPECT_TRUE(decoder.complete());
  }
}

TEST(ListDecoderTest, ACutListIsNotComplete) {
  ListDecoder decoder;
  Decode(std::string_view(kList).substr(0, sizeof kList - 2), 10, decoder);
  EXPECT_FALSE(decoder.complete());
}

TEST(ListDecoderTest, WhatCannotBeAListIsRefused) {
  ListDecoder decoder;
  EXPECT_FALSE(decoder.Feed("}}", [](std::string_view) { return true; }));
}

}  // namespace
}  // namespace flyball
