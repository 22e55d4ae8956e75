#include "server/auth/csv.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

using Records = std::vector<CsvRecord>;

Records Parsed(std::string_view text) {
  const auto records = ParseCsv(text);
  EXPECT_TRUE(records) << text;
  return records ? *records : Records{};
}

TEST(CsvTest, LinesEndInEitherWay) {
  const Records two = {{"a", "b"}, {"c", "d"}};
  EXPECT_EQ(Parsed("a,b\nc,d\n"), two);
  EXPECT_EQ(Parsed("a,b\r\nc,d\r\n"), two);
  EXPECT_EQ(Parsed("\n\r\na,b\n\nc,d"), two);
  EXPECT_EQ(Parsed("a,b\r\nc,d\r"), two);
  EXPECT_EQ(Parsed(""), Records{});
  EXPECT_EQ(Parsed("a\rb,c\n"), (Records{{"a\rb", "c"}}));
}

TEST(CsvTest, EmptyFieldsAreFields) {
  EXPECT_EQ(Parsed(",a,\n,\n"), (Records{{"", "a", ""}, {"", ""}}));
}

TEST(CsvTest, QuotesHoldCommasLinesAndQuotes) {
  EXPECT_EQ(Parsed("\"a,b\",c\n"), (Records{{"a,b", "c"}}));
  EXPECT_EQ(Parsed("\"a\r\nb\",\"\"\r\n"), (Records{{"a\nb", ""}}));
  EXPECT_EQ(Parsed("\"say \"\"x\"\"\"\n"), (Records{{"say \"x\""}}));
}

TEST(CsvTest, QuotesElsewhereAreWrong) {
  EXPECT_EQ(ParseCsv("a\nb\"c\n").error().message(), "parse error on line 2: bare \" in non-quoted-field");
  EXPECT_EQ(ParseCsv("\"a\"b\n").error().message(),
            "parse error on line 1: extraneous or missing \" in quoted-field");
  EXPECT_EQ(ParseCsv("\"a\n").error().message(),
            "parse error on line 1: extraneous or missing \" in quoted-field");
}

}  // namespace
}  // namespace flyball::server
