// HashText: a fast hash of short texts (keys, names) for in-memory tables. Works on eight bytes at a time,
// inlined. Do not use it for input that an attacker can choose freely and in bulk, and do not store the
// result.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace flyball {

namespace hash_internal {

inline std::uint64_t Read8(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline std::uint64_t Read4(const char* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Combines both halves of the product, so that every bit of the input affects every bit of the result.
inline std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace hash_internal

inline std::uint64_t HashText(std::string_view text, std::uint64_t seed = 0) {
  using namespace hash_internal;  // NOLINT(google-build-using-namespace)
  constexpr std::uint64_t kOdd1 = 0x9e3779b97f4a7c15ull, kOdd2 = 0xe7037ed1a0b428dbull;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t h = seed ^ Fold(n ^ kOdd1, kOdd2);
  for (; n > 16; p += 16, n -= 16) h = Fold(Read8(p) ^ kOdd1, Read8(p + 8) ^ h);
  std::uint64_t a = 0, b = 0;
  if (n >= 8) {
    a = Read8(p);
    b = Read8(p + n - 8);
  } else if (n >= 4) {
    a = Read4(p);
    b = Read4(p + n - 4);
  } else if (n > 0) {
    a = static_cast<unsigned char>(p[0]);
    b = static_cast<std::uint64_t>(static_cast<unsigned char>(p[n / 2])) << 8 |
        static_cast<unsigned char>(p[n - 1]);
  }
  return Fold(a ^ kOdd1, b ^ h ^ kOdd2);
}

}  // namespace flyball
