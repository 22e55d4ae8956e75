#include "api/values/base64.h"

#include <array>
#include <cstdint>

namespace flyball::api {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNotInAlphabet = 0xFF;

constexpr std::array<std::uint8_t, 256> MakeReverse() {
  std::array<std::uint8_t, 256> reverse{};
  reverse.fill(kNotInAlphabet);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return reverse;
}
constexpr std::array<std::uint8_t, 256> kReverse = MakeReverse();

bool IsLineEnd(char c) {
  return c == '\n' || c == '\r';
}

// Reads one group of four characters at a time, as Go does, so that errors are counted alike.
class Base64Decoder {
 public:
  Base64Decoder(std::string_view text, std::string& bytes) : text_(text), bytes_(bytes) {}

  bool Run(std::size_t& bad) {
    while (!done_ && at_ < text_.size()) {
      if (!ReadGroup(bad)) return false;
    }
    return true;
  }

 private:
  bool ReadGroup(std::size_t& bad) {
    std::uint32_t bits = 0;
    int count = 0;
    while (count < 4) {
      if (at_ == text_.size()) {
        if (count == 0) return true;
        bad = at_ - static_cast<std::size_t>(count);
        return false;
      }
      const char c = text_[at_++];
      if (IsLineEnd(c)) continue;
      const std::uint8_t value = kReverse[static_cast<unsigned char>(c)];
      if (value != kNotInAlphabet) {
        bits = bits << 6 | value;
        ++count;
        continue;
      }
      if (c != '=' || count < 2) {
        bad = at_ - 1;
        return false;
      }
      if (!ReadPadding(count, bad)) return false;
      break;
    }
    Append(bits, count);
    return true;
  }

  // After the first '=': a second one if two characters were read, then nothing but line ends.
  bool ReadPadding(int count, std::size_t& bad) {
    if (count == 2) {
      SkipLineEnds();
      if (at_ == text_.size()) {
        bad = text_.size();
        return false;
      }
      if (text_[at_] != '=') {
        bad = at_;
        return false;
      }
      ++at_;
    }
    SkipLineEnds();
    bad = at_;
    done_ = true;
    return at_ == text_.size();
  }

  void SkipLineEnds() {
    while (at_ < text_.size() && IsLineEnd(text_[at_])) ++at_;
  }

  void Append(std::uint32_t bits, int count) {
    bits <<= 6 * (4 - count);
    for (int i = 0; i < count - 1; ++i) bytes_ += static_cast<char>(bits >> (16 - 8 * i) & 0xFF);
  }

  std::string_view text_;
  std::string& bytes_;
  std::size_t at_ = 0;
  bool done_ = false;
};

}  // namespace

bool DecodeBase64(std::string_view text, std::string& bytes, std::size_t& bad) {
  bytes.clear();
  bytes.reserve(text.size() / 4 * 3 + 3);
  return Base64Decoder(text, bytes).Run(bad);
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < left ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    text += kAlphabet[bits >> 18];
    text += kAlphabet[bits >> 12 & 63];
    text += left > 1 ? kAlphabet[bits >> 6 & 63] : '=';
    text += left > 2 ? kAlphabet[bits & 63] : '=';
  }
  return text;
}

bool IsCanonicalBase64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  if (text.empty()) return true;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  const std::size_t length = text.size() - padding;
  for (std::size_t i = 0; i < length; ++i) {
    if (kReverse[static_cast<unsigned char>(text[i])] == kNotInAlphabet) return false;
  }
  // The bits that padding leaves over must be zero.
  constexpr std::array<std::uint8_t, 3> kLeftOver = {0, 0x03, 0x0F};
  return (kReverse[static_cast<unsigned char>(text[length - 1])] & kLeftOver[padding]) == 0;
}

}  // namespace flyball::api
