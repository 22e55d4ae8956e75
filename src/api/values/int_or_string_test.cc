#include "api/values/int_or_string.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

TEST(IntOrStringTest, RoundTripsThroughJson) {
  EXPECT_EQ(IntOrString::From(json::Value(5)), IntOrString(5));
  EXPECT_EQ(IntOrString::From(json::Value("http")).ToJson(), json::Value("http"));
  EXPECT_EQ(IntOrString::From(json::Value(true)), IntOrString(0));
}

TEST(IntOrStringTest, PercentagesScaleUpAndDown) {
  const IntOrString quarter(std::string("25%"));
  EXPECT_EQ(*quarter.Scaled(10, true), 3);
  EXPECT_EQ(*quarter.Scaled(10, false), 2);
  EXPECT_EQ(*quarter.Scaled(8, true), 2);
  EXPECT_EQ(*IntOrString(7).Scaled(10, true), 7);
  EXPECT_FALSE(IntOrString(std::string("25")).Scaled(10, true));
  EXPECT_FALSE(IntOrString(std::string("-5%")).Scaled(10, true));
  EXPECT_FALSE(IntOrString(std::string("%")).Scaled(10, true));
}

}  // namespace
}  // namespace flyball::api
