#include "base/values/ascii.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flyball {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AsciiTest, OnlyLettersChangeCase) {
  EXPECT_EQ(LowerCase("Ab-1Z[\xC3\x84"), "ab-1z[\xC3\x84");
  EXPECT_EQ(UpperCase("aB-1z{\xC3\xA4"), "AB-1Z{\xC3\xA4");
}

TEST(AsciiTest, TrimmedLosesTheEndsOnly) {
  EXPECT_EQ(Trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trimmed(" \n "), "");
  EXPECT_EQ(Trimmed("\ta ", " "), "\ta");
}

TEST(AsciiTest, SplitTextKeepsEmptyParts) {
  EXPECT_THAT(SplitText("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(SplitText("", ','), ElementsAre(""));
}

TEST(AsciiTest, SplitWordsDropsEmptyParts) {
  EXPECT_THAT(SplitWords("  a\tb  "), ElementsAre("a", "b"));
  EXPECT_THAT(SplitWords("/x//y/", "/"), ElementsAre("x", "y"));
  EXPECT_THAT(SplitWords(""), IsEmpty());
}

}  // namespace
}  // namespace flyball
