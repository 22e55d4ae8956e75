#include "crypto/key_exchange.h"

#include <gtest/gtest.h>

namespace flyball::crypto {
namespace {

std::string KeyOfHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// Computed from the definition in RFC 7748, section 5, for the bytes 0 to 31.
TEST(KeyExchangeTest, PublicKeysAreThoseOfTheStandard) {
  std::string private_key;
  for (char byte = 0; byte < 32; ++byte) private_key += byte;
  EXPECT_EQ(*PublicExchangeKey(private_key),
            KeyOfHex("8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"));
  EXPECT_FALSE(PublicExchangeKey("short"));
}

TEST(KeyExchangeTest, EachKeyIsNew) {
  const auto one = NewExchangeKey(), other = NewExchangeKey();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->size(), kExchangeKeySize);
  EXPECT_NE(*one, *other);
  EXPECT_NE(*PublicExchangeKey(*one), *PublicExchangeKey(*other));
  EXPECT_EQ(*PublicExchangeKey(*one), *PublicExchangeKey(*one));
}

}  // namespace
}  // namespace flyball::crypto
