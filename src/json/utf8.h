// UTF-8 validation. Private to the module.
#pragma once

#include <cstddef>
#include <string_view>

namespace flyball::json {

// Returns the length in bytes of the character that starts at s[i]; 0 if it is not well-formed. Requires i <
// s.size().
inline std::size_t Utf8Length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) -> unsigned {
    return k < s.size() ? static_cast<unsigned char>(s[k]) : 0;
  };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xc0) == 0x80; };
  const unsigned first = byte(i), second = byte(i + 1);
  if (first < 0x80) return 1;
  if (!follows(i + 1)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (!follows(i + 2)) return 0;
  if (first == 0xe0) return second >= 0xa0 ? 3 : 0;
  if (first == 0xed) return second < 0xa0 ? 3 : 0;
  if (first >= 0xe1 && first <= 0xef) return 3;
  if (!follows(i + 3)) return 0;
  if (first == 0xf0) return second >= 0x90 ? 4 : 0;
  if (first == 0xf4) return second < 0x90 ? 4 : 0;
  return first >= 0xf1 && first <= 0xf3 ? 4 : 0;
}

// Returns the code point of the well-formed character that starts at s[i].
inline unsigned DecodeUtf8(std::string_view s, std::size_t i) {
  const auto first = static_cast<unsigned char>(s[i]);
  if (first < 0x80) return first;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  unsigned code = first & (0xffu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k)
    code = (code << 6) | (static_cast<unsigned char>(s[i + k]) & 0x3fu);
  return code;
}

}  // namespace flyball::json
