#include "api/values/quantity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "api/values/quantity_text.h"

namespace flyball::api {
namespace {

using Wide = __int128;

constexpr Wide kWideMax = static_cast<Wide>((static_cast<unsigned __int128>(1) << 127) - 1);
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr int kFastDigits = 18;  // digits that fit 64 bits whatever they are
constexpr int kWideDigits = 39;  // the most a Wide has

bool MultiplyBy(Wide& value, Wide factor) {
  Wide result;
  if (__builtin_mul_overflow(value, factor, &result)) return false;
  value = result;
  return true;
}

// value * 10^n, or false (value is then unspecified) if that does not fit.
bool ShiftUp(Wide& value, std::int64_t n) {
  if (value == 0) return true;
  for (; n > 0; --n) {
    if (!MultiplyBy(value, 10)) return false;
  }
  return true;
}

// value / 10^n rounded away from zero; `exact` becomes false if something was lost.
Wide ShiftDown(Wide value, std::int64_t n, bool& exact) {
  bool lost = false;
  for (; n > 0 && value != 0; --n) {
    lost = lost || value % 10 != 0;
    const Wide next = value / 10;
    if (next == 0) {
      exact = exact && !lost;
      return value < 0 ? -1 : 1;
    }
    value = next;
  }
  if (!lost) return value;
  exact = false;
  return value < 0 ? value - 1 : value + 1;
}

std::string WideText(Wide value) {
  if (value == 0) return "0";
  std::string text;
  const bool negative = value < 0;
  for (; value != 0; value /= 10)
    text += static_cast<char>('0' + static_cast<int>(negative ? -(value % 10) : value % 10));
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

int DigitCount(Wide value) {
  int digits = 0;
  for (; value != 0; value /= 10) ++digits;
  return digits;
}

// Digits as a number; those beyond what fits go to `scale`, rounding up.
Wide ParseDigits(std::string_view digits, std::int64_t& scale) {
  Wide value = 0;
  bool lost = false;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (value > (kWideMax - 10) / 10) {
      lost = digits.find_first_not_of('0', i) != std::string_view::npos;
      scale += static_cast<std::int64_t>(digits.size() - i);
      break;
    }
    value = value * 10 + (digits[i] - '0');
  }
  return lost ? value + 1 : value;
}

// Upstream handles these without big numbers, and only then keeps the text.
bool IsFastBinary(const QuantityParts& parts) {
  return parts.fraction.empty() && static_cast<int>(parts.number.size()) + parts.exponent * 3 / 10 + 1 <= 15;
}

// Makes both amounts multiples of the same power of ten; the finer one is rounded if they are too far apart.
void Align(Wide& a, std::int32_t& a_scale, Wide& b, std::int32_t& b_scale) {
  if (a == 0) a_scale = b_scale;
  if (b == 0) b_scale = a_scale;
  if (a_scale < b_scale) return Align(b, b_scale, a, a_scale);
  while (a_scale > b_scale && a < kWideMax / 100 && a > -kWideMax / 100) {
    a *= 10;
    --a_scale;
  }
  bool exact = true;
  b = ShiftDown(b, static_cast<std::int64_t>(a_scale) - b_scale, exact);
  b_scale = a_scale;
}

}  // namespace

Quantity::Quantity(std::int64_t value, int scale, Format format)
    : value_(value), scale_(scale), format_(format) {}

// Upstream keeps the text of a number that is canonical already; the test is by digits, so "+1" and "1."
// pass.
bool Quantity::KeepsText(std::string_view digits, std::int64_t value, int scale, Format format) {
  if (format == Format::kBinarySI) return (value & 7) != 0;
  return scale % 3 == 0 && !digits.ends_with("000") && digits[0] != '0';
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  FLYBALL_ASSIGN(const QuantityParts parts, SplitQuantity(text));
  const std::string digits = std::string(parts.number) + std::string(parts.fraction);
  Quantity q;
  q.format_ = parts.format;
  const bool binary = parts.format == Format::kBinarySI;
  std::int64_t scale = (binary ? 0 : parts.exponent) - static_cast<std::int64_t>(parts.fraction.size());
  q.value_ = ParseDigits(digits, scale);
  if (binary && !MultiplyBy(q.value_, static_cast<Wide>(1) << parts.exponent)) q.value_ = kWideMax;
  const bool was_exact = scale >= kNano;
  if (!was_exact) {
    bool exact = true;
    q.value_ = ShiftDown(q.value_, kNano - scale, exact);
    scale = kNano;
  }
  // The canonical text may have a larger exponent than what was parsed, and must parse too.
  if (scale > kMaxQuantityExponent - kWideDigits && scale + DigitCount(q.value_) > kMaxQuantityExponent)
    return Unexpected(QuantitySuffixError());
  q.scale_ = static_cast<std::int32_t>(scale);
  if (binary) {
    const Quantity cap(kInt64Max);
    if (q > cap) q = Quantity(kInt64Max, 0, q.format_);
    if (q.value_ != 0 && q < Quantity(1)) q.format_ = Format::kDecimalSI;
  }
  if (parts.negative) q.value_ = -q.value_;
  const bool fast =
      was_exact && (binary ? IsFastBinary(parts) : static_cast<int>(digits.size()) <= kFastDigits);
  if (fast && q.value_ != 0) {
    const auto plain = static_cast<std::int64_t>(binary ? q.value_ >> parts.exponent : q.value_);
    if (KeepsText(digits, plain, q.scale_, q.format_)) q.text_ = text;
  }
  return q;
}

int Quantity::Sign() const {
  return value_ == 0 ? 0 : value_ < 0 ? -1 : 1;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  if (Sign() != other.Sign() || Sign() == 0) return Sign() <=> other.Sign();
  const std::int64_t size = DigitCount(value_) + std::int64_t{scale_};
  const std::int64_t other_size = DigitCount(other.value_) + std::int64_t{other.scale_};
  if (size != other_size) return Sign() > 0 ? size <=> other_size : other_size <=> size;
  // Both have the same number of digits before the point: if shifting one up overflows, it is the larger one.
  Wide a = value_, b = other.value_;
  if (scale_ > other.scale_) {
    if (!ShiftUp(a, scale_ - other.scale_)) return Sign() <=> 0;
  } else if (!ShiftUp(b, other.scale_ - scale_)) {
    return 0 <=> Sign();
  }
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  text_.clear();
  Quantity term = other;
  Align(value_, scale_, term.value_, term.scale_);
  if (__builtin_add_overflow(value_, term.value_, &value_)) value_ = term.value_ < 0 ? -kWideMax : kWideMax;
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  return *this += -other;
}

Quantity Quantity::operator-() const {
  Quantity q = *this;
  q.value_ = -q.value_;
  q.text_.clear();
  return q;
}

std::int64_t Quantity::Scaled(int scale) const {
  Wide value = value_;
  bool exact = true;
  if (scale > scale_) {
    value = ShiftDown(value, std::int64_t{scale} - scale_, exact);
  } else if (!ShiftUp(value, std::int64_t{scale_} - scale)) {
    value = value_ < 0 ? -kWideMax : kWideMax;
  }
  if (value > kInt64Max) return kInt64Max;
  if (value < -static_cast<Wide>(kInt64Max) - 1) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

double Quantity::ToDouble() const {
  return static_cast<double>(value_) * std::pow(10.0, scale_);
}

bool Quantity::RoundUp(int scale) {
  if (scale_ >= scale) return true;
  bool exact = true;
  text_.clear();
  value_ = ShiftDown(value_, std::int64_t{scale} - scale_, exact);
  scale_ = scale;
  return exact;
}

std::string Quantity::ToString() const {
  if (!text_.empty()) return text_;
  if (IsZero()) return "0";
  if (format_ == Format::kBinarySI)
    return FitsBinary() ? CanonicalBinary() : CanonicalDecimal(Format::kDecimalSI);
  return CanonicalDecimal(format_);
}

// Small or fractional amounts lose nothing when they are written in decimal.
bool Quantity::FitsBinary() const {
  if (*this > Quantity(-1024) && *this < Quantity(1024)) return false;
  Quantity whole = *this;
  return whole.RoundUp(0);
}

std::string Quantity::CanonicalDecimal(Format format) const {
  Wide value = value_;
  std::int64_t exponent = scale_;
  for (; value % 10 == 0; value /= 10) ++exponent;
  for (; exponent % 3 != 0 && MultiplyBy(value, 10); --exponent) {
  }
  return WideText(value) + DecimalSuffix(exponent, format);
}

std::string Quantity::CanonicalBinary() const {
  Wide value = value_;
  std::int32_t scale = scale_;
  bool exact = true;
  if (scale < 0) value = ShiftDown(value, -std::int64_t{scale}, exact);
  if (scale > 0 && !ShiftUp(value, scale)) return CanonicalDecimal(Format::kDecimalSI);
  int exponent = 0;
  for (; value % 1024 == 0 && exponent < 60; value /= 1024) exponent += 10;
  return WideText(value) + std::string(BinarySuffix(exponent));
}

bool IsPlainCanonicalQuantity(std::string_view text) {
  constexpr std::size_t kMaxDigits = 12;
  std::size_t digits = 0;
  std::uint64_t value = 0;
  while (digits < text.size() && digits <= kMaxDigits && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + static_cast<std::uint64_t>(text[digits++] - '0');
  }
  if (digits == 0 || digits > kMaxDigits || text[0] == '0') return false;
  const std::string_view suffix = text.substr(digits);
  constexpr std::string_view kDecimal = "mkMGTPE", kBinary = "KMGT";
  if (suffix.empty() || (suffix.size() == 1 && kDecimal.find(suffix[0]) != std::string_view::npos)) {
    return value % 1000 != 0;
  }
  constexpr std::uint64_t kMaxBinary = 1 << 20;  // so that no suffix above reaches the cap
  return suffix.size() == 2 && suffix[1] == 'i' && kBinary.find(suffix[0]) != std::string_view::npos &&
         value % 1024 != 0 && value < kMaxBinary;
}

}  // namespace flyball::api
