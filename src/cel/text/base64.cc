#include "cel/text/base64.h"

#include <cstdint>

namespace flyball::cel {
namespace {

int Base64UrlDigit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  if (c == '_') return 63;
  return -1;
}

bool IsLineBreak(char c) {
  return c == '\n' || c == '\r';
}

}  // namespace

std::optional<std::string> DecodeBase64Url(std::string_view text, std::string* problem) {
  std::string out;
  std::size_t i = 0;
  const auto fail = [&](std::size_t at) {
    *problem = "illegal base64 data at input byte " + std::to_string(at);
    return std::nullopt;
  };
  while (true) {
    std::uint32_t bits = 0;
    int digits = 0;
    while (digits < 4) {
      if (i == text.size()) {
        if (digits == 0) return out;
        return fail(i - static_cast<std::size_t>(digits));
      }
      const char c = text[i++];
      if (IsLineBreak(c)) continue;
      const int digit = Base64UrlDigit(c);
      if (digit >= 0) {
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        ++digits;
        continue;
      }
      if (c != '=' || digits < 2) return fail(i - 1);
      if (digits == 2) {
        while (i < text.size() && IsLineBreak(text[i])) ++i;
        if (i == text.size()) return fail(text.size());
        if (text[i] != '=') return fail(i - 1);
        ++i;
      }
      while (i < text.size() && IsLineBreak(text[i])) ++i;
      if (i < text.size()) return fail(i);
      out += static_cast<char>(bits >> (digits == 2 ? 4 : 10));
      if (digits == 3) out += static_cast<char>(bits >> 2);
      return out;
    }
    out += static_cast<char>(bits >> 16);
    out += static_cast<char>(bits >> 8);
    out += static_cast<char>(bits);
  }
}

std::string EncodeBase64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace flyball::cel
