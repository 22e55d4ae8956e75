#include <gtest/gtest.h>

#include <array>

#include "json/json.h"
#include "json/parse_repeated.h"
#include "json/parse_without.h"

namespace flyball::json {
namespace {

std::string ErrorOf(std::string_view text) {
  auto value = Parse(text);
  return value ? "(parsed: " + Write(*value) + ")" : value.error().message();
}

std::string Again(std::string_view text) {
  auto value = Parse(text);
  return value ? Write(*value) : "error: " + value.error().message();
}

std::string Repeat(std::string_view s, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += s;
  return out;
}

TEST(ParseTest, WithoutLeavesOutWhatIsAtThePathsAndNothingElse) {
  constexpr std::array<std::string_view, 2> kPaths = {"metadata.managedFields", "status"};
  const auto value = ParseWithout(
      kPaths, R"({"metadata":{"name":"a","managedFields":[{"x":1}]},"status":{"a":1},"spec":{"status":2,)"
              R"("metadata":{"managedFields":3}},"managedFields":4})");
  ASSERT_TRUE(value);
  EXPECT_EQ(
      Write(*value),
      R"({"metadata":{"name":"a"},"spec":{"status":2,"metadata":{"managedFields":3}},"managedFields":4})");
  EXPECT_FALSE(ParseWithout(kPaths, R"({"status":[1,})"));
  constexpr std::array<std::string_view, 1> kEach = {"versions[*].schema"};
  EXPECT_EQ(
      Write(*ParseWithout(kEach, R"({"versions":[{"name":"a","schema":{"x":1}},{"schema":2}],"schema":3})")),
      R"({"versions":[{"name":"a"},{}],"schema":3})");
}

TEST(ParseTest, ReadsEveryKindAndKeepsOrder) {
  const std::string text =
      R"({"z":null,"a":[true,false,-1,0.5,"s",{}],"m":{"y":[],"x":"é\n"},"n":9223372036854775807})";
  EXPECT_EQ(Again(text), text);
  EXPECT_EQ(Again(" \t\r\n [ 1 , 2 ] \n"), "[1,2]");
  EXPECT_EQ(Again("3"), "3");
  EXPECT_EQ(Again("\"x\""), "\"x\"");
  EXPECT_EQ(Again("null"), "null");
}

TEST(ParseTest, NumbersAreExactIntegersOrDoubles) {
  EXPECT_EQ(Parse("-9223372036854775808")->as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Parse("9223372036854775807")->as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(Parse("-0")->is_int());
  EXPECT_TRUE(Parse("1.0")->is_double());
  EXPECT_TRUE(Parse("1e2")->is_double());
  EXPECT_EQ(Parse("9223372036854775808")->as_double(), 9223372036854775808.0);
  EXPECT_EQ(Parse("18446744073709551615")->as_double(), 18446744073709551615.0);
  EXPECT_EQ(Parse("18446744073709551616")->as_double(), 18446744073709551616.0);
  EXPECT_EQ(Parse("-9223372036854775809")->as_double(), -9223372036854775808.0);
  EXPECT_EQ(Parse("{\"a\":[123456789012345678901234567890]}")->Find("a")->as_array()[0].as_double(),
            123456789012345678901234567890.0);
  EXPECT_EQ(Parse("1e-400")->as_double(), 0.0);
  EXPECT_EQ(Parse("0.0e999999999999999999999")->as_double(), 0.0);
  EXPECT_EQ(Parse("[18446744073709551616, 1e-99999]")->as_array()[1].as_double(), 0.0);
}

TEST(ParseTest, NumbersBeyondDoubleAreRefusedInGosWords) {
  EXPECT_EQ(ErrorOf("1e400"), "json: cannot unmarshal number 1e400 into Go value of type float64");
  EXPECT_EQ(ErrorOf("[-1.5E+999]"), "json: cannot unmarshal number -1.5E+999 into Go value of type float64");
  EXPECT_EQ(ErrorOf("1e99999999999999999999"),
            "json: cannot unmarshal number 1e99999999999999999999 into Go value of type float64");
  EXPECT_NE(ErrorOf("10e9223372036854775807").find("into Go value of type float64"), std::string::npos);
  EXPECT_EQ(Parse("0.01e-9223372036854775808")->as_double(), 0.0);
  const std::string huge = Repeat("9", 400);
  EXPECT_EQ(ErrorOf(huge), "json: cannot unmarshal number " + huge + " into Go value of type float64");
}

TEST(ParseTest, EscapesAndSurrogates) {
  EXPECT_EQ(Parse(R"("\u00e9\ud83d\ude00\/\"\\\b\f\n\r\t")")->as_string(), "é😀/\"\\\b\f\n\r\t");
  EXPECT_EQ(Parse(R"("\u0000")")->as_string(), std::string_view("\0", 1));
  // Go replaces half a pair instead of rejecting it.
  EXPECT_EQ(Parse(R"("a\ud800b")")->as_string(), "a\ufffdb");
  EXPECT_EQ(Parse(R"("\ud800\u0041")")->as_string(), "\ufffdA");
  EXPECT_EQ(Parse(R"("\ude00\ud83d\ude00")")->as_string(), "\ufffd😀");
}

TEST(ParseTest, SaysWhatIsWrongAsGoDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "unexpected end of JSON input"},
      {"   ", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"[1", "unexpected end of JSON input"},
      {"[1,", "unexpected end of JSON input"},
      {"\"abc", "unexpected end of JSON input"},
      {"\"abc\\", "unexpected end of JSON input"},
      {"\"\\u12", "unexpected end of JSON input"},
      {"tru", "unexpected end of JSON input"},
      {"-", "unexpected end of JSON input"},
      {"1.", "unexpected end of JSON input"},
      {"1e+", "unexpected end of JSON input"},
      {"{\"a\"", "unexpected end of JSON input"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"}", "invalid character '}' looking for beginning of value"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{\"a\":}", "invalid character '}' looking for beginning of value"},
      {"+1", "invalid character '+' looking for beginning of value"},
      {"'a'", "invalid character '\\'' looking for beginning of value"},
      {"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"},
      {"{a:1}", "invalid character 'a' looking for beginning of object key string"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"{1:1}", "invalid character '1' looking for beginning of object key string"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1}", "invalid character '}' after array element"},
      {"{\"a\":1]", "invalid character ']' after object key:value pair"},
      {"{} x", "invalid character 'x' after top-level value"},
      {"1 2", "invalid character '2' after top-level value"},
      {"01", "invalid character '1' after top-level value"},
      {"trux", "invalid character 'x' in literal true (expecting 'e')"},
      {"txue", "invalid character 'x' in literal true (expecting 'r')"},
      {"faLse", "invalid character 'L' in literal false (expecting 'l')"},
      {"nulL", "invalid character 'L' in literal null (expecting 'l')"},
      {"truee", "invalid character 'e' after top-level value"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"\"a\nb\"", "invalid character '\\n' in string literal"},
      {"\"a\x01\"", "invalid character '\\x01' in string literal"},
      {"\"\\x\"", "invalid character 'x' in string escape code"},
      {"\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(ErrorOf(text), message) << text;
  EXPECT_EQ(Parse("x").error().reason(), Reason::kBadRequest);
}

TEST(ParseTest, RefusesInvalidUtf8) {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                           "\"\xe2\x82\"", "{\"\xfe\":1}"})
    EXPECT_EQ(ErrorOf(text).substr(0, 13), "invalid UTF-8") << text;
}

TEST(ParseTest, ReportsDuplicateKeysWithTheirPathsAndTheLastWins) {
  std::vector<std::string> duplicates;
  auto value = Parse(
      R"({"a":1,"spec":{"replicas":1,"list":[{"x":1},{"x":[1],"x":{"y":1,"y":2},"x":3}],"replicas":2},"a":3})",
      {.duplicates = &duplicates});
  ASSERT_TRUE(value);
  EXPECT_EQ(Write(*value), R"({"a":3,"spec":{"replicas":2,"list":[{"x":1},{"x":3}]}})");
  EXPECT_EQ(duplicates,
            (std::vector<std::string>{"spec.list[1].x", "spec.list[1].x.y", "spec.replicas", "a"}));
  EXPECT_EQ(Again(R"({"a":1,"a":2})"), R"({"a":2})");
}

TEST(ParseTest, RepeatedMembersCanBeKeptInTheirOrder) {
  auto value = ParseRepeated(R"({"a":1,"b":{"c":1,"c":2},"a":3,"a":4})");
  ASSERT_TRUE(value);
  std::string order;
  for (const auto& [key, member] : value->as_object())
    order.append(UnmarkedKey(key)).append(IsRepeated(key) ? "! " : " ");
  EXPECT_EQ(order, "a b a! a! ");
  EXPECT_EQ((*value)["b"].size(), 2u);
  EXPECT_EQ((*value)["a"].as_int(), 1);
}

TEST(ParseTest, DuplicatesAreFoundInLargeObjectsAndTheirNumberIsBounded) {
  std::string text = "{";
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(round) + ",";
  }
  text.back() = '}';
  std::vector<std::string> duplicates;
  auto value = Parse(text, {.duplicates = &duplicates});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->size(), 500u);
  EXPECT_EQ((*value)["key499"].as_int(), 1);
  EXPECT_EQ(duplicates.size(), 100u);
}

TEST(ParseTest, NestingIsLimitedAndNeverCrashes) {
  for (const std::size_t depth : {1, 1000, 1023, 1024, 1025, 5000, 10000}) {
    EXPECT_TRUE(Parse(Repeat("[", depth) + Repeat("]", depth))) << depth;
    EXPECT_TRUE(Parse(Repeat("{\"a\":", depth) + "1" + Repeat("}", depth))) << depth;
  }
  EXPECT_EQ(ErrorOf(Repeat("[", 10001) + Repeat("]", 10001)), "invalid character '[' exceeded max depth");
  EXPECT_EQ(ErrorOf(Repeat("[", 100000)), "invalid character '[' exceeded max depth");
  EXPECT_EQ(ErrorOf(Repeat("{\"a\":", 100000)), "invalid character '{' exceeded max depth");
  EXPECT_TRUE(Parse("[[]]", {.max_depth = 2}));
  EXPECT_FALSE(Parse("[[[]]]", {.max_depth = 2}));
}

TEST(ParseTest, DeepTreesCanBeWrittenCopiedAndDestroyed) {
  const std::string text = Repeat("{\"a\":[", 5000) + "1" + Repeat("]}", 5000);
  auto value = Parse(text);
  ASSERT_TRUE(value);
  const Value copy = *value;
  EXPECT_EQ(Write(copy), text);
  EXPECT_TRUE(copy == *value);
}

TEST(ParseTest, LengthIsLimited) {
  EXPECT_TRUE(Parse("12345", {.max_bytes = 5}));
  auto refused = Parse("123456", {.max_bytes = 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), Reason::kRequestEntityTooLarge);
}

TEST(ParseTest, LargeTextsAndManySmallOnesAfterwards) {
  const std::string element = R"({"name":"some-long-name-here","n":12345},)";
  std::string text = "[" + Repeat(element, 20000);
  text.back() = ']';
  auto value = Parse(text);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->size(), 20000u);
  EXPECT_EQ(Write(*value), text);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Again(R"({"a":1})"), R"({"a":1})");
}

TEST(ParseTest, TextNeedNotEndWithAZeroOrBePadded) {
  const std::string text = "{\"a\":1}garbage";
  auto value = Parse(std::string_view(text).substr(0, 7));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["a"].as_int(), 1);
  EXPECT_EQ(Parse(std::string_view("12345").substr(0, 2))->as_int(), 12);
}

}  // namespace
}  // namespace flyball::json
