#include "base/values/md5.h"

#include <bit>
#include <cmath>
#include <string>

namespace flyball {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kLengthBytes = 8;
// The rotation of each step in the four rounds.
constexpr std::array<std::array<int, 4>, 4> kRotations = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

// The integer parts of 2^32 |sin(i + 1)|, as in the standard.
const std::array<std::uint32_t, 64>& Sines() {
  static const std::array<std::uint32_t, 64> sines = [] {
    std::array<std::uint32_t, 64> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint32_t>(
          std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    return out;
  }();
  return sines;
}

std::uint32_t LittleEndian(const char* at) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(at[i]);
  return word;
}

struct Step {
  std::uint32_t mixed;
  std::uint32_t word;  // index of the word in the block
};

Step StepOf(std::uint32_t i, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  switch (i / 16) {
    case 0:
      return {(b & c) | (~b & d), i};
    case 1:
      return {(d & b) | (~d & c), (5 * i + 1) % 16};
    case 2:
      return {b ^ c ^ d, (3 * i + 5) % 16};
    default:
      return {c ^ (b | ~d), (7 * i) % 16};
  }
}

void AddBlock(std::array<std::uint32_t, 4>& state, const char* block) {
  auto [a, b, c, d] = state;
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const Step step = StepOf(i, b, c, d);
    const std::uint32_t sum = a + step.mixed + Sines()[i] + LittleEndian(block + step.word * 4);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kRotations[i / 16][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

Md5Digest Md5(std::string_view bytes) {
  std::string padded(bytes);
  padded.push_back('\x80');
  while (padded.size() % kBlock != kBlock - kLengthBytes) padded.push_back('\0');
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (std::size_t i = 0; i < kLengthBytes; ++i) padded.push_back(static_cast<char>(bits >> (8 * i)));
  std::array<std::uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t at = 0; at < padded.size(); at += kBlock) AddBlock(state, padded.data() + at);
  Md5Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (8 * (i % 4)));
  return digest;
}

}  // namespace flyball
