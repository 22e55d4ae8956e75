#include "base/base64.h"

#include <gtest/gtest.h>

namespace flyball {
namespace {

TEST(Base64, EncodesAndDecodesEveryLengthOfTail) {
  for (const std::string bytes : {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xff\xfe\x00x"})
    EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
  EXPECT_EQ(Base64Encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64Encode("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64Encode(std::string("\xfb\xff", 2)), "+/8=");
}

TEST(Base64, SkipsLineEndsAsGoDoes) {
  EXPECT_EQ(Base64Decode("Zm9v\r\nYmE=\n"), "fooba");
}

TEST(Base64, RefusesWhatIsNotBase64) {
  for (const char* text :
       {"Zm9vYmE", "Zm9v!", "Z", "=", "====", "Zg=", "Zg===", "Zg==Zg==", "Zm9v Yg==", "Zm-_"})
    EXPECT_EQ(Base64Decode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace flyball
