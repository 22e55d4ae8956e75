#include "cel/text/utf8.h"

namespace flyball::cel {

Rune DecodeRune(std::string_view text, std::size_t i) {
  constexpr Rune kInvalid{0xfffd, 1, false};
  const auto byte = [&](std::size_t k) -> std::uint32_t {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0;
  };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xc0) == 0x80; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  if (first >= 0xc2 && first <= 0xdf && follows(1)) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2, true};
  if (first >= 0xe0 && first <= 0xef && follows(1) && follows(2)) {
    const std::uint32_t code = (first & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)) return kInvalid;
    return {code, 3, true};
  }
  if (first >= 0xf0 && first <= 0xf4 && follows(1) && follows(2) && follows(3)) {
    const std::uint32_t code =
        (first & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    if (code < 0x10000 || code > 0x10ffff) return kInvalid;
    return {code, 4, true};
  }
  return kInvalid;
}

void AppendRune(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

bool IsValidUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = DecodeRune(text, i);
    if (!rune.valid) return false;
    i += rune.length;
  }
  return true;
}

std::vector<std::size_t> RunePositions(std::string_view text) {
  std::vector<std::size_t> positions;
  positions.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); i += DecodeRune(text, i).length) positions.push_back(i);
  positions.push_back(text.size());
  return positions;
}

}  // namespace flyball::cel
