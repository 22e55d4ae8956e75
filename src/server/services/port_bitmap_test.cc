#include "server/services/port_bitmap.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

constexpr PortRange kPorts{30000, 32767};

TEST(PortBitmapTest, BytesAreABigIntegersHighestFirst) {
  PortBitmap bitmap(kPorts);
  EXPECT_EQ(bitmap.ToBytes(), "");
  EXPECT_TRUE(bitmap.Take(30000));
  EXPECT_FALSE(bitmap.Take(30000));
  EXPECT_EQ(bitmap.ToBytes(), std::string("\x01", 1));
  bitmap.Take(30009);
  EXPECT_EQ(bitmap.ToBytes(), std::string("\x02\x01", 2));
  EXPECT_EQ(PortBitmap::FromBytes(kPorts, bitmap.ToBytes()), bitmap);
  EXPECT_EQ(bitmap.used_count(), 2);
  bitmap.Release(30000);
  bitmap.Release(1);
  EXPECT_FALSE(bitmap.Has(30000));
  EXPECT_TRUE(bitmap.Has(30009));
}

TEST(PortBitmapTest, TheLastPortHasItsBit) {
  PortBitmap bitmap(kPorts);
  bitmap.Take(32767);
  EXPECT_EQ(bitmap.ToBytes().size(), 346u);
  EXPECT_TRUE(PortBitmap::FromBytes(kPorts, bitmap.ToBytes()).Has(32767));
  EXPECT_EQ(PortBitmap::FromBytes({1, 3}, "\xff\xff").used_count(), 3);
}

TEST(PortRangeTest, SaysWhatIsWrong) {
  EXPECT_EQ(ParsePortRange("30000-32767")->ToString(), "30000-32767");
  for (const char* bad : {"", "30000", "5-1", "a-b", "1-70000"}) EXPECT_FALSE(ParsePortRange(bad)) << bad;
}

}  // namespace
}  // namespace flyball::server
