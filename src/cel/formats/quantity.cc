#include "cel/formats/quantity.h"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

using BigInteger = boost::multiprecision::cpp_int;

constexpr std::string_view kWrongForm =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kWrongSuffix = "unable to parse quantity's suffix";
constexpr std::string_view kWrongNumber = "unable to parse numeric part of quantity";

struct QuantitySuffix {
  std::string_view name;
  int exponent;  // of ten, or of two if binary
  bool binary;
};
constexpr std::array<QuantitySuffix, 16> kQuantitySuffixes = {{{"", 0, false},
                                                               {"n", -9, false},
                                                               {"u", -6, false},
                                                               {"m", -3, false},
                                                               {"k", 3, false},
                                                               {"M", 6, false},
                                                               {"G", 9, false},
                                                               {"T", 12, false},
                                                               {"P", 15, false},
                                                               {"E", 18, false},
                                                               {"Ki", 10, true},
                                                               {"Mi", 20, true},
                                                               {"Gi", 30, true},
                                                               {"Ti", 40, true},
                                                               {"Pi", 50, true},
                                                               {"Ei", 60, true}}};

struct QuantityText {
  bool positive = true;
  std::string_view value, whole, fraction, suffix;
};

bool IsQuantityDigit(char c) {
  return c >= '0' && c <= '9';
}

// Upstream's parseQuantityString.
bool SplitQuantityText(std::string_view s, QuantityText& parts) {
  std::size_t i = 0;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) {
    parts.positive = s[0] != '-';
    ++i;
  }
  while (i < s.size() && s[i] == '0') ++i;
  if (i == s.size()) {
    parts.whole = parts.value = "0";
    return true;
  }
  std::size_t start = i;
  while (i < s.size() && IsQuantityDigit(s[i])) ++i;
  parts.whole = s.substr(start, i - start);
  if (i == s.size()) {
    parts.value = s;
    return true;
  }
  if (parts.whole.empty()) parts.whole = "0";
  if (s[i] == '.') {
    start = ++i;
    while (i < s.size() && IsQuantityDigit(s[i])) ++i;
    parts.fraction = s.substr(start, i - start);
  }
  parts.value = s.substr(0, i);
  if (i == s.size()) return true;
  start = i;
  while (i < s.size() && std::string_view("eEinumkKMGTP").find(s[i]) != std::string_view::npos) ++i;
  if (i < s.size() && (s[i] == '-' || s[i] == '+')) ++i;
  while (i < s.size() && IsQuantityDigit(s[i])) ++i;
  parts.suffix = s.substr(start, i - start);
  return i == s.size();
}

BigInteger PowerOfTen(std::int64_t exponent) {
  return boost::multiprecision::pow(BigInteger(10), static_cast<unsigned>(exponent));
}

BigInteger DigitsToInteger(const std::string& digits) {
  // A leading zero would make it octal.
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? BigInteger(0) : BigInteger(digits.substr(first));
}

}  // namespace

struct Quantity::Number {
  BigInteger value;
};

Quantity::Quantity() : number_(std::make_unique<Number>()) {}
Quantity::Quantity(const Quantity& other)
    : number_(std::make_unique<Number>(*other.number_)),
      scale_(other.scale_),
      is_decimal_(other.is_decimal_),
      format_(other.format_),
      text_(other.text_) {}
Quantity::Quantity(Quantity&& other) noexcept = default;
Quantity& Quantity::operator=(Quantity other) noexcept {
  std::swap(number_, other.number_);
  scale_ = other.scale_;
  is_decimal_ = other.is_decimal_;
  format_ = other.format_;
  text_ = std::move(other.text_);
  return *this;
}
Quantity::~Quantity() = default;

Quantity Quantity::OfInteger(std::int64_t value) {
  Quantity q;
  q.number_->value = value;
  q.format_ = Format::kDecimalExponent;
  return q;
}

std::optional<Quantity> Quantity::Parse(std::string_view text, std::string* problem) {
  const auto fail = [&](std::string_view message) {
    *problem = message;
    return std::nullopt;
  };
  if (text.empty()) return fail(kWrongForm);
  QuantityText parts;
  if (!SplitQuantityText(text, parts)) return fail(kWrongForm);
  if (parts.whole.size() + parts.fraction.size() > kMaxDigits) return fail(kWrongNumber);
  Quantity q;
  std::int64_t exponent = 0;
  bool binary = false;
  const auto suffix = std::find_if(kQuantitySuffixes.begin(), kQuantitySuffixes.end(),
                                   [&](const auto& s) { return s.name == parts.suffix; });
  if (suffix != kQuantitySuffixes.end()) {
    exponent = suffix->exponent;
    binary = suffix->binary;
    if (binary) q.format_ = Format::kBinarySI;
  } else if (parts.suffix.size() > 1 && (parts.suffix[0] == 'E' || parts.suffix[0] == 'e')) {
    const auto parsed = ParseGoInt(parts.suffix.substr(1));
    if (!parsed) return fail(kWrongSuffix);
    exponent = static_cast<std::int32_t>(*parsed);
    q.format_ = Format::kDecimalExponent;
  } else {
    return fail(kWrongSuffix);
  }
  // Upstream's fast path holds what fits 64 bits as such; only those convert to integers.
  constexpr int kMaxInt64Digits = 18;
  const auto whole = static_cast<int>(parts.whole.size()), fraction = static_cast<int>(parts.fraction.size());
  const std::string digits = std::string(parts.whole) + std::string(parts.fraction);
  int precision = -1;
  std::int64_t scale = 0;
  if (!binary) {
    scale = exponent;
    precision = kMaxInt64Digits - (whole + fraction);
  } else if (parts.fraction.empty()) {
    precision = 15 - whole - static_cast<int>(static_cast<float>(exponent) * 3 / 10) - 1;
  }
  if (precision >= 0) {
    scale -= fraction;
    if (scale >= -9) {
      BigInteger value = DigitsToInteger(digits);
      if (binary) value <<= static_cast<unsigned>(exponent);
      if (value <= std::numeric_limits<std::int64_t>::max()) {
        const bool odd = (DigitsToInteger(digits) & 7) != 0;
        q.number_->value = parts.positive ? value : BigInteger(-value);
        q.scale_ = scale;
        const bool keeps = binary ? exponent % 10 == 0 && odd
                                  : scale % 3 == 0 && !digits.ends_with("000") && digits[0] != '0';
        if (keeps) q.text_ = text;
        if (text == "0") q.text_ = "0";
        return q;
      }
    }
  }
  q.is_decimal_ = true;
  BigInteger amount = DigitsToInteger(digits);
  q.scale_ = -fraction;
  if (binary)
    amount <<= static_cast<unsigned>(exponent);
  else
    q.scale_ += exponent;
  // Nothing is finer than a nano; what is becomes the next one up.
  if (amount != 0 && q.scale_ < -9) {
    if (-9 - q.scale_ > static_cast<std::int64_t>(kMaxDigits) + 10) {
      amount = 1;
    } else {
      const BigInteger divisor = PowerOfTen(-9 - q.scale_);
      const BigInteger rest = amount % divisor;
      amount /= divisor;
      if (rest != 0) ++amount;
    }
    q.scale_ = -9;
  }
  Quantity one;
  one.number_->value = 1;
  q.number_->value = amount;
  if (binary) {
    const BigInteger limit = std::numeric_limits<std::int64_t>::max();
    const BigInteger unit = q.scale_ < 0 ? PowerOfTen(-q.scale_) : BigInteger(1);
    if (amount > limit * unit) {
      q.number_->value = limit;
      q.scale_ = 0;
    }
    if (amount > 0 && amount < unit) q.format_ = Format::kDecimalSI;
  }
  if (!parts.positive) q.number_->value = -q.number_->value;
  return q;
}

int Quantity::Sign() const {
  return number_->value.sign();
}

int Quantity::Compare(const Quantity& other) const {
  const BigInteger &a = number_->value, &b = other.number_->value;
  if (a.sign() != b.sign()) return a.sign() < b.sign() ? -1 : 1;
  if (a.is_zero()) return 0;
  const std::int64_t distance = scale_ - other.scale_;
  if (std::abs(distance) > static_cast<std::int64_t>(2 * kMaxDigits) + kMaxExponentDistance)
    return (distance > 0) == (a.sign() > 0) ? 1 : -1;
  const int order = distance >= 0 ? BigInteger(a * PowerOfTen(distance)).compare(b)
                                  : a.compare(BigInteger(b * PowerOfTen(-distance)));
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::optional<Quantity> Quantity::Add(const Quantity& other, bool subtract) const {
  Quantity result = *this;
  result.text_.clear();
  if (Sign() == 0) result.format_ = other.format_;
  const BigInteger addend = subtract ? BigInteger(-other.number_->value) : other.number_->value;
  const bool fast = !is_decimal_ && !other.is_decimal_;
  if (fast && addend.is_zero()) return result;
  if (fast && Sign() == 0) {
    result.number_->value = addend;
    result.scale_ = other.scale_;
    return result;
  }
  const std::int64_t scale = std::min(scale_, other.scale_);
  if (std::max(scale_, other.scale_) - scale > kMaxExponentDistance) return std::nullopt;
  result.number_->value =
      number_->value * PowerOfTen(scale_ - scale) + addend * PowerOfTen(other.scale_ - scale);
  result.scale_ = scale;
  if (boost::multiprecision::msb(BigInteger(boost::multiprecision::abs(result.number_->value) + 1)) >
      8 * kMaxDigits)
    return std::nullopt;
  const BigInteger limit = std::numeric_limits<std::int64_t>::max();
  result.is_decimal_ = !fast || boost::multiprecision::abs(result.number_->value) > limit;
  return result;
}

std::optional<std::int64_t> Quantity::AsInteger() const {
  if (is_decimal_ || scale_ < 0) return std::nullopt;
  if (number_->value.is_zero()) return 0;
  if (scale_ > 18) return std::nullopt;
  const BigInteger value = number_->value * PowerOfTen(scale_);
  if (value > std::numeric_limits<std::int64_t>::max() || value < std::numeric_limits<std::int64_t>::min())
    return std::nullopt;
  return value.convert_to<std::int64_t>();
}

double Quantity::AsDouble() const {
  const auto base = number_->value.convert_to<double>();
  if (scale_ == 0) return base;
  // Go's math.Pow10.
  const double power = scale_ < -323  ? 0
                       : scale_ > 308 ? std::numeric_limits<double>::infinity()
                                      : ParseGoDouble("1e" + std::to_string(scale_)).value_or(0);
  return base * power;
}

std::string Quantity::DecimalText(Format format) const {
  BigInteger amount = number_->value;
  std::int64_t exponent = scale_;
  while (!amount.is_zero() && amount % 10 == 0) {
    amount /= 10;
    ++exponent;
  }
  const std::int64_t over = ((exponent % 3) + 3) % 3;
  amount *= PowerOfTen(over);
  exponent -= over;
  std::string out = amount.str();
  if (exponent == 0) return out;
  if (format == Format::kDecimalSI)
    for (const QuantitySuffix& suffix : kQuantitySuffixes)
      if (!suffix.binary && suffix.exponent == exponent) return out + std::string(suffix.name);
  return out + "e" + std::to_string(exponent);
}

std::string Quantity::BinaryText() const {
  BigInteger amount = number_->value * PowerOfTen(std::max<std::int64_t>(scale_, 0));
  if (scale_ < 0) amount /= PowerOfTen(-scale_);
  int exponent = 0;
  while (amount % 1024 == 0 && exponent < 60) {
    amount /= 1024;
    exponent += 10;
  }
  for (const QuantitySuffix& suffix : kQuantitySuffixes)
    if (suffix.binary && suffix.exponent == exponent) return amount.str() + std::string(suffix.name);
  return amount.str();
}

std::string Quantity::ToString() const {
  if (!text_.empty()) return text_;
  if (Sign() == 0) return "0";
  if (scale_ > kMaxExponentDistance) return number_->value.str() + "e" + std::to_string(scale_);
  if (format_ != Format::kBinarySI) return DecimalText(format_);
  const BigInteger unit = scale_ < 0 ? PowerOfTen(-scale_) : BigInteger(1);
  const BigInteger size =
      boost::multiprecision::abs(number_->value) * PowerOfTen(std::max<std::int64_t>(scale_, 0));
  if (size < 1024 * unit || size % unit != 0) return DecimalText(Format::kDecimalSI);
  return BinaryText();
}

}  // namespace flyball::cel
