#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "json/json.h"

namespace flyball::json {
namespace {

TEST(WriteTest, DoublesAsGoWritesThem) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1.0, "1"},
      {-1.5, "-1.5"},
      {100, "100"},
      {0.1, "0.1"},
      {0.30000000000000004, "0.30000000000000004"},
      {1e20, "100000000000000000000"},
      {123456789012345680000.0, "123456789012345680000"},
      {1e21, "1e+21"},
      {1.5e21, "1.5e+21"},
      {1e100, "1e+100"},
      {0.000001, "0.000001"},
      {0.0000015, "0.0000015"},
      {1e-7, "1e-7"},
      {1.25e-9, "1.25e-9"},
      {1e-10, "1e-10"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::nan(""), "null"},
  };
  for (const auto& [number, text] : cases) EXPECT_EQ(Write(Value(number)), text);
}

TEST(WriteTest, IntegersAreExact) {
  EXPECT_EQ(Write(Value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(Write(Value(std::numeric_limits<std::int64_t>::max())), "9223372036854775807");
}

TEST(WriteTest, StringsAreEscapedAsGoDoesButNotForHtml) {
  EXPECT_EQ(Write(Value("\"\\/\b\f\n\r\t\x01\x1f\x7f<>&")),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f<>&\"");
  EXPECT_EQ(Write(Value("a\u2028b\u2029c\u2030d")), "\"a\\u2028b\\u2029c\u2030d\"");
  EXPECT_EQ(Write(Value("é😀")), "\"é😀\"");
  EXPECT_EQ(Write(Value(std::string_view("\0", 1))), "\"\\u0000\"");
}

TEST(WriteTest, EscapesAreFoundWhereverTheyStand) {
  for (const std::string special :
       {"\"", "\\", "\n", "\x01", "\x1f", "\u2028", "\u2030", "\xe2\x80\xa7", "é", "\x7f", " "}) {
    for (std::size_t length = 0; length < 20; ++length) {
      for (std::size_t at = 0; at <= length; ++at) {
        std::string text = std::string(at, 'a') + special + std::string(length - at, 'z') + special;
        const std::string written = Write(Value(text));
        EXPECT_EQ(Parse(written)->as_string(), text);
        std::string quoted;
        AppendQuoted(text, quoted);
        EXPECT_EQ(quoted, written);
        EXPECT_EQ(written.find('\n'), std::string::npos);
      }
    }
  }
}

TEST(WriteTest, ResultsCarryNoSpareRoom) {
  const std::string text = Write(Value(std::string(10000, 'x')));
  EXPECT_EQ(text.capacity(), text.size());
}

TEST(WriteTest, Compact) {
  EXPECT_EQ(Write(Value(Object{{"b", Array{1, nullptr, true}}, {"a", Object()}, {"c", Array()}})),
            R"({"b":[1,null,true],"a":{},"c":[]})");
  std::string out = "prefix ";
  WriteTo(Value(1), out);
  EXPECT_EQ(out, "prefix 1");
}

TEST(WriteTest, Pretty) {
  const Value value(Object{{"kind", "Pod"}, {"list", Array{1, Object{{"x", Array()}}}}, {"none", Object()}});
  EXPECT_EQ(WritePretty(value), R"({
    "kind": "Pod",
    "list": [
        1,
        {
            "x": []
        }
    ],
    "none": {}
})");
  EXPECT_EQ(WritePretty(Value(Array{1}), 2), "[\n  1\n]");
}

TEST(EqualityTextTest, IsTheSameForEqualValuesOnly) {
  const auto value = [](std::string_view text) { return *Parse(text); };
  EXPECT_EQ(EqualityText(value(R"({"a":1,"b":[{"c":2,"d":3}]})")),
            EqualityText(value(R"({"b":[{"d":3,"c":2}],"a":1})")));
  const std::vector<std::string> different = {"1",    "1.0",  "\"1\"",    "[1]",      "[1.0]",  "{\"a\":1}",
                                              "true", "null", "\"true\"", "[\"d1\"]", "\"[1]\""};
  for (const auto& a : different)
    for (const auto& b : different)
      EXPECT_EQ(EqualityText(value(a)) == EqualityText(value(b)), value(a) == value(b)) << a << " " << b;
}

}  // namespace
}  // namespace flyball::json
