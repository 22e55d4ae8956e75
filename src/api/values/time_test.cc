#include "api/values/time.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

using namespace std::chrono_literals;

std::string Reformat(std::string_view text) {
  const auto t = ParseTime(text);
  return t ? FormatTime(*t) : t.error().message();
}

std::string ReformatMicro(std::string_view text) {
  const auto t = ParseMicroTime(text);
  return t ? FormatMicroTime(*t) : t.error().message();
}

TEST(TimeTest, OffsetsAndFractionsGo) {
  EXPECT_EQ(Reformat("2024-01-01T00:00:00Z"), "2024-01-01T00:00:00Z");
  EXPECT_EQ(Reformat("2024-01-01T00:00:00.5Z"), "2024-01-01T00:00:00Z");
  EXPECT_EQ(Reformat("2024-01-01T00:00:00+02:00"), "2023-12-31T22:00:00Z");
  EXPECT_EQ(Reformat("2024-02-29T23:59:59-23:59"), "2024-03-01T23:58:59Z");
  EXPECT_EQ(Reformat("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59Z");
  EXPECT_EQ(Reformat("1969-12-31T23:59:59Z"), "1969-12-31T23:59:59Z");
}

TEST(TimeTest, ZeroIsGoZero) {
  EXPECT_TRUE(ParseTime("0001-01-01T00:00:00Z")->IsZero());
  EXPECT_FALSE(ParseTime("1970-01-01T00:00:00Z")->IsZero());
  EXPECT_EQ(FormatTime(Time{}), "0001-01-01T00:00:00Z");
}

TEST(TimeTest, ErrorsAreGos) {
  EXPECT_EQ(
      Reformat("2024-01-01 00:00:00"),
      "parsing time \"2024-01-01 00:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 00:00:00\" as "
      "\"T\"");
  EXPECT_EQ(Reformat("2024-13-01T00:00:00Z"), "parsing time \"2024-13-01T00:00:00Z\": month out of range");
  EXPECT_EQ(Reformat("2024-02-30T00:00:00Z"), "parsing time \"2024-02-30T00:00:00Z\": day out of range");
  EXPECT_EQ(Reformat("2024-01-01T24:00:00Z"), "parsing time \"2024-01-01T24:00:00Z\": hour out of range");
  EXPECT_EQ(Reformat(""),
            "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\"");
  EXPECT_EQ(Reformat("2024-01-01T00:00:00Zx"), "parsing time \"2024-01-01T00:00:00Zx\": extra text: \"x\"");
  EXPECT_EQ(Reformat("2024-01-01T00:00:00"),
            "parsing time \"2024-01-01T00:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as "
            "\"Z07:00\"");
}

TEST(MicroTimeTest, TakesExactlySixDigits) {
  EXPECT_EQ(ReformatMicro("2024-01-01T00:00:00.123456Z"), "2024-01-01T00:00:00.123456Z");
  EXPECT_EQ(ReformatMicro("2024-01-01T00:00:00.123456+01:00"), "2023-12-31T23:00:00.123456Z");
  EXPECT_EQ(ReformatMicro("2024-01-01T00:00:00.5Z"),
            "parsing time \"2024-01-01T00:00:00.5Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse "
            "\".5Z\" as "
            "\".000000\"");
}

TEST(TimeTest, ConvertsToAndFromTimePoints) {
  const TimePoint t = TimePoint(1700000000s + 123456789ns);
  EXPECT_EQ(Time::From(t).ToTimePoint(), t);
  EXPECT_EQ(FormatMicroTime(t), "2023-11-14T22:13:20.123456Z");
  const TimePoint before = TimePoint(-1500ms);
  EXPECT_EQ(Time::From(before).ToTimePoint(), before);
  EXPECT_EQ(ParseTime("9999-12-31T23:59:59Z")->ToTimePoint(), TimePoint::max());
}

}  // namespace
}  // namespace flyball::api
