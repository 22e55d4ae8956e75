#include "base/base64.h"

#include <array>
#include <cstdint>

namespace flyball {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kInvalid = 0xff;

constexpr std::array<std::uint8_t, 256> MakeReverse() {
  std::array<std::uint8_t, 256> reverse{};
  reverse.fill(kInvalid);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return reverse;
}

constexpr std::array<std::uint8_t, 256> kReverse = MakeReverse();

std::uint32_t Byte(char c) {
  return static_cast<unsigned char>(c);
}

char Letter(std::uint32_t bits) {
  return kAlphabet[bits & 63];
}

}  // namespace

std::string Base64Encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = Byte(bytes[i]) << 16 | Byte(bytes[i + 1]) << 8 | Byte(bytes[i + 2]);
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(Letter(group >> shift));
  }
  const std::size_t rest = bytes.size() - i;
  if (rest == 0) return out;
  const std::uint32_t group = Byte(bytes[i]) << 16 | (rest == 2 ? Byte(bytes[i + 1]) << 8 : 0);
  out.push_back(Letter(group >> 18));
  out.push_back(Letter(group >> 12));
  out.push_back(rest == 2 ? Letter(group >> 6) : '=');
  out.push_back('=');
  return out;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int letters = 0, padding = 0;
  for (const char c : text) {
    if (c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::uint8_t bits = kReverse[Byte(c)];
    if (bits == kInvalid || padding > 0) return std::nullopt;
    group = group << 6 | bits;
    if (++letters < 4) continue;
    for (int shift = 16; shift >= 0; shift -= 8) out.push_back(static_cast<char>(group >> shift & 255));
    group = 0;
    letters = 0;
  }
  if ((letters + padding) % 4 != 0 || padding > 2 || letters == 1 || (letters == 0 && padding > 0))
    return std::nullopt;
  if (letters >= 2) out.push_back(static_cast<char>(group >> (letters == 2 ? 4 : 10) & 255));
  if (letters == 3) out.push_back(static_cast<char>(group >> 2 & 255));
  return out;
}

}  // namespace flyball
