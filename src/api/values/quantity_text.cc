#include "api/values/quantity_text.h"

#include <array>
#include <charconv>

#include "base/values/ascii.h"

namespace flyball::api {
namespace {

constexpr std::string_view kFormError =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kSuffixError = "unable to parse quantity's suffix";
constexpr std::string_view kSuffixLetters = "eEinumkKMGTP";
struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimal = {{{"n", -9},
                                              {"u", -6},
                                              {"m", -3},
                                              {"", 0},
                                              {"k", 3},
                                              {"M", 6},
                                              {"G", 9},
                                              {"T", 12},
                                              {"P", 15},
                                              {"E", 18}}};
constexpr std::array<Suffix, 6> kBinary = {
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

std::string_view TakeDigits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// Letters, then a sign, then digits, then nothing.
bool HasSuffixForm(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && kSuffixLetters.find(text[i]) != std::string_view::npos) ++i;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  while (i < text.size() && IsDigit(text[i])) ++i;
  return i == text.size();
}

bool ReadExponent(std::string_view suffix, QuantityParts& parts) {
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return false;
  suffix.remove_prefix(1);
  if (suffix.size() > 1 && suffix[0] == '+' && IsDigit(suffix[1])) suffix.remove_prefix(1);
  const auto [end, ec] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), parts.exponent);
  parts.format = Quantity::Format::kDecimalExponent;
  return ec == std::errc{} && end == suffix.data() + suffix.size() &&
         parts.exponent <= kMaxQuantityExponent && parts.exponent >= -kMaxQuantityExponent;
}

bool ReadSuffix(std::string_view suffix, QuantityParts& parts) {
  for (const Suffix& s : kDecimal) {
    if (s.text == suffix) {
      parts.exponent = s.exponent;
      return true;
    }
  }
  for (const Suffix& s : kBinary) {
    if (s.text == suffix) {
      parts.exponent = s.exponent;
      parts.format = Quantity::Format::kBinarySI;
      return true;
    }
  }
  return ReadExponent(suffix, parts);
}

}  // namespace

Error QuantitySuffixError() {
  return BadRequest(std::string(kSuffixError));
}

Result<QuantityParts> SplitQuantity(std::string_view text) {
  QuantityParts parts;
  if (text.empty()) return Unexpected(BadRequest(std::string(kFormError)));
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.number = TakeDigits(text);
  while (parts.number.starts_with('0')) parts.number.remove_prefix(1);
  if (parts.number.empty()) parts.number = "0";
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = TakeDigits(text);
  }
  if (!HasSuffixForm(text)) return Unexpected(BadRequest(std::string(kFormError)));
  if (!ReadSuffix(text, parts)) return Unexpected(QuantitySuffixError());
  return parts;
}

std::string DecimalSuffix(std::int64_t exponent, Quantity::Format format) {
  if (exponent == 0) return {};
  if (format == Quantity::Format::kDecimalSI) {
    for (const Suffix& s : kDecimal) {
      if (s.exponent == exponent) return std::string(s.text);
    }
  }
  return "e" + std::to_string(exponent);
}

std::string_view BinarySuffix(int exponent) {
  for (const Suffix& s : kBinary) {
    if (s.exponent == exponent) return s.text;
  }
  return {};
}

}  // namespace flyball::api
