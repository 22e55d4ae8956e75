// Characters of UTF-8 text. Functions only; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::cel {

struct Rune {
  std::uint32_t code;  // U+FFFD if invalid
  std::size_t length;  // bytes; 1 if invalid
  bool valid;
};

// Requires i < text.size().
Rune DecodeRune(std::string_view text, std::size_t i);
void AppendRune(std::string& out, std::uint32_t code);
bool IsValidUtf8(std::string_view text);
// Byte positions of each character and of the end.
std::vector<std::size_t> RunePositions(std::string_view text);

}  // namespace flyball::cel
