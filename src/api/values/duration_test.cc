#include "api/values/duration.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

using namespace std::chrono_literals;

std::string ErrorText(std::string_view text) {
  const auto d = ParseDuration(text);
  return d ? "ok" : d.error().message();
}

TEST(DurationTest, ReadsWhatGoReads) {
  EXPECT_EQ(*ParseDuration("1h30m"), 90min);
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(*ParseDuration("-1.5h"), -90min);
  EXPECT_EQ(*ParseDuration("0"), 0s);
  EXPECT_EQ(*ParseDuration("+5us"), 5us);
  EXPECT_EQ(*ParseDuration(".5s"), 500ms);
  EXPECT_EQ(*ParseDuration("-9223372036854775808ns"), Duration::min());
}

TEST(DurationTest, ErrorsAreGos) {
  EXPECT_EQ(ErrorText(""), "time: invalid duration \"\"");
  EXPECT_EQ(ErrorText("x"), "time: invalid duration \"x\"");
  EXPECT_EQ(ErrorText("5"), "time: missing unit in duration \"5\"");
  EXPECT_EQ(ErrorText("5x"), "time: unknown unit \"x\" in duration \"5x\"");
  EXPECT_EQ(ErrorText("."), "time: invalid duration \".\"");
  EXPECT_EQ(ErrorText("9223372036854775808ns"), "time: invalid duration \"9223372036854775808ns\"");
  EXPECT_EQ(ErrorText("99999999999999999999h"), "time: invalid duration \"99999999999999999999h\"");
}

TEST(DurationTest, WritesWhatGoWrites) {
  EXPECT_EQ(FormatDuration(0s), "0s");
  EXPECT_EQ(FormatDuration(1h), "1h0m0s");
  EXPECT_EQ(FormatDuration(90s), "1m30s");
  EXPECT_EQ(FormatDuration(1500ms), "1.5s");
  EXPECT_EQ(FormatDuration(100ms), "100ms");
  EXPECT_EQ(FormatDuration(1500ns), "1.5\xC2\xB5s");
  EXPECT_EQ(FormatDuration(-1ns), "-1ns");
  EXPECT_EQ(FormatDuration(Duration::min()), "-2562047h47m16.854775808s");
}

}  // namespace
}  // namespace flyball::api
