#include "api/values/quantity.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

std::string Canonical(std::string_view text) {
  const Result<Quantity> q = Quantity::Parse(text);
  return q ? q->ToString() : q.error().message();
}

Quantity Q(std::string_view text) {
  const Result<Quantity> q = Quantity::Parse(text);
  EXPECT_TRUE(q) << text;
  return q ? *q : Quantity();
}

TEST(QuantityTest, CanonicalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"1", "1"},
      {"1.5", "1500m"},
      {"0.5", "500m"},
      {".5", "500m"},
      {"1000m", "1"},
      {"1k", "1k"},
      {"1000k", "1M"},
      {"1024", "1024"},
      {"1.5Ki", "1536"},
      {"1024Ki", "1Mi"},
      {"1023Ki", "1023Ki"},
      {"0.5Gi", "512Mi"},
      {"1Ei", "1Ei"},
      {"1e1", "10"},
      {"1.5e3", "1500"},
      {"1e30", "1e30"},
      {"1000000", "1M"},
      {"-1.5", "-1500m"},
      {"0Ki", "0"},
      {"-0", "0"},
      {"m", "0"},
      {"100.0", "100"},
      {"1.1Ki", "1126400m"},
      {"0.1Ki", "102400m"},
      {"1e21", "1e21"},
      {"1000E", "1e21"},
      {"1n", "1n"},
      {"1.0000000001", "1000000001n"},
      {"99999999999999999999", "99999999999999999999"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Canonical(text), want) << text;
}

TEST(QuantityTest, TextThatIsCanonicalStays) {
  for (const char* text : {"+1", "1.", "1E3", "12E6", "1e0", "1500m", "+3Ki"})
    EXPECT_EQ(Canonical(text), text);
}

TEST(QuantityTest, BinaryIsCapped) {
  EXPECT_EQ(Canonical("9Ei"), "9223372036854775807");
  EXPECT_EQ(Canonical("-9Ei"), "-9223372036854775807");
  EXPECT_EQ(Canonical("999999999999999999999999999999999999Ei"), "9223372036854775807");
}

TEST(QuantityTest, ErrorsAreUpstreams) {
  const std::string form =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const std::string suffix = "unable to parse quantity's suffix";
  for (const char* text : {"", "abc", "1Kib", "1..5", "1.5.5", "0x10", "1_000", " 1"})
    EXPECT_EQ(Canonical(text), form);
  for (const char* text : {"1K", "1e", "--1", "5mm", "1i", "1e99999999999999"})
    EXPECT_EQ(Canonical(text), suffix);
}

TEST(QuantityTest, WhatIsWrittenCanBeReadAgainHoweverLarge) {
  const auto large = Quantity::Parse("999E999000");
  ASSERT_TRUE(large);
  EXPECT_TRUE(Quantity::Parse(large->ToString()));
  // Canonical would be 99923990399e1000002, which is beyond what is read.
  EXPECT_FALSE(Quantity::Parse("99923990399000E999999"));
}

TEST(QuantityTest, Compares) {
  EXPECT_EQ(Q("1"), Q("1000m"));
  EXPECT_EQ(Q("1Ki"), Q("1024"));
  EXPECT_LT(Q("1k"), Q("1Ki"));
  EXPECT_LT(Q("-1"), Q("0"));
  EXPECT_LT(Q("-2"), Q("-1500m"));
  EXPECT_GT(Q("1e30"), Q("1n"));
  EXPECT_LT(Q("1n"), Q("1e300"));
  EXPECT_EQ(Q("0"), Q("0Ki"));
}

TEST(QuantityTest, AddsAndSubtractsExactly) {
  EXPECT_EQ((Q("100m") + Q("1")).ToString(), "1100m");
  EXPECT_EQ((Q("1Gi") + Q("1Gi")).ToString(), "2Gi");
  EXPECT_EQ((Q("1") - Q("1m")).ToString(), "999m");
  EXPECT_EQ((Quantity() + Q("1Ki")).ToString(), "1Ki");
  EXPECT_EQ((Q("1Gi") - Q("1Gi")).ToString(), "0");
  EXPECT_EQ((Q("9223372036854775807") + Q("1n")).ToString(), "9223372036854775807000000001n");
}

TEST(QuantityTest, RoundsAwayFromZero) {
  EXPECT_EQ(Q("1500m").Value(), 2);
  EXPECT_EQ(Q("-1500m").Value(), -2);
  EXPECT_EQ(Q("1").MilliValue(), 1000);
  EXPECT_EQ(Q("1u").MilliValue(), 1);
  EXPECT_EQ(Q("1e30").Value(), INT64_MAX);
  Quantity q = Q("0.3333333333");
  EXPECT_FALSE(q.RoundUp(Quantity::kMilli));
  EXPECT_EQ(q.ToString(), "334m");
}

TEST(QuantityTest, PlainTextsAreCanonical) {
  for (const char* text : {"1", "100m", "128Mi", "1Gi", "1500m", "10k", "999999999999", "7E"}) {
    EXPECT_TRUE(IsPlainCanonicalQuantity(text)) << text;
    Quantity q = Q(text);
    q.RoundUp(Quantity::kMilli);
    EXPECT_EQ(q.ToString(), text);
  }
  for (const char* text :
       {"", "0", "01", "1000m", "1024Mi", "1n", "1u", "1.5", "-1", "1e3", "1Ei", "1Kib", "m"}) {
    EXPECT_FALSE(IsPlainCanonicalQuantity(text)) << text;
  }
}

TEST(QuantityTest, ResourceListsKeepMillis) {
  const std::pair<const char*, const char*> cases[] = {{"1n", "1m"}, {"1e-9", "1e-3"}, {"3.14159", "3142m"}};
  for (const auto& [text, want] : cases) {
    Quantity q = Q(text);
    EXPECT_FALSE(q.RoundUp(Quantity::kMilli));
    EXPECT_EQ(q.ToString(), want);
  }
}

TEST(QuantityTest, ManyDigitsRoundUpInsteadOfOverflowing) {
  const std::string digits(60, '9');
  EXPECT_GT(Q(digits), Q("1e59"));
  EXPECT_EQ(Q(digits).Value(), INT64_MAX);
}

}  // namespace
}  // namespace flyball::api
