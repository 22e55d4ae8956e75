#include "base/values/md5.h"

#include <gtest/gtest.h>

#include <string>

namespace flyball {
namespace {

std::string HexOf(const Md5Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) (out += kDigits[byte >> 4]) += kDigits[byte & 15];
  return out;
}

TEST(Md5Test, TheVectorsOfTheStandard) {
  EXPECT_EQ(HexOf(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(HexOf(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(HexOf(Md5("abcdefghijklmnopqrstuvwxyz")), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(HexOf(Md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace flyball
