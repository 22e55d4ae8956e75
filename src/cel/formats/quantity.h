// Quantity: an amount with a suffix ("1.5Gi", "100m"), exact however large, as expressions see it (upstream:
// apimachinery api/resource). A value; thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace flyball::cel {

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  // `problem` gets upstream's message. Numbers of more than kMaxDigits digits are refused.
  static std::optional<Quantity> Parse(std::string_view text, std::string* problem);
  static Quantity OfInteger(std::int64_t value);

  static constexpr std::size_t kMaxDigits = 1000;
  // Amounts whose exponents are further apart than this are not added.
  static constexpr std::int64_t kMaxExponentDistance = 1000;

  int Sign() const;
  int Compare(const Quantity& other) const;
  // Nothing if the result would be absurdly long.
  std::optional<Quantity> Add(const Quantity& other, bool subtract) const;
  // Nothing if it is no whole number of 64 bits, or was too long to begin with.
  std::optional<std::int64_t> AsInteger() const;
  double AsDouble() const;
  std::string ToString() const;

  struct Number;  // arbitrarily large integer
  Quantity(const Quantity& other);
  Quantity(Quantity&& other) noexcept;
  Quantity& operator=(Quantity other) noexcept;
  ~Quantity();

 private:
  Quantity();
  std::string DecimalText(Format format) const;
  std::string BinaryText() const;

  std::unique_ptr<Number> number_;  // times 10^scale_
  std::int64_t scale_ = 0;
  bool is_decimal_ = false;  // upstream would hold it as an inf.Dec
  Format format_ = Format::kDecimalSI;
  std::string text_;  // what was parsed, where upstream writes it back unchanged
};

}  // namespace flyball::cel
