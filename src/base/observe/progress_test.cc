#include "base/observe/progress.h"

#include <gtest/gtest.h>

namespace flyball {
namespace {

TEST(ProgressTest, ShowsHowMuchIsDone) {
  EXPECT_EQ(ProgressBar(5, 10), "[############............] 50 %");
  EXPECT_EQ(ProgressBar(0, 0), "[........................] 0 %");
  EXPECT_EQ(ProgressBar(11, 10), "[########################] 100 %");
}

TEST(ProgressTest, WritesSizes) {
  EXPECT_EQ(SizeText(999), "999 B");
  EXPECT_EQ(SizeText(1234), "1.2 kB");
  EXPECT_EQ(SizeText(45'678'901), "45.7 MB");
}

TEST(ProgressTest, AsksNothingWhenNobodyWatches) {
  bool asked = false, printed = false;
  {
    ProgressTicker ticker([&] { return asked = true, std::string("x"); }, {});
    if (ticker.active()) GTEST_SKIP() << "the output is a terminal";
    ticker.Print([&] { printed = true; });
  }
  EXPECT_FALSE(asked);
  EXPECT_TRUE(printed);
}

}  // namespace
}  // namespace flyball
