// Quantity: an exact decimal amount with a suffix, as resource lists hold it: "100m", "1.5Gi", "12e6"
// (upstream: apimachinery api/resource). A value holds up to 38 significant digits; beyond that it is rounded
// up.
//
// A value; thread-compatible.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::api {

class Quantity {
 public:
  // How the canonical text is written. It follows what was parsed.
  enum class Format : std::uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  // Powers of ten for RoundUp and Scaled.
  static constexpr int kNano = -9;
  static constexpr int kMilli = -3;

  Quantity() = default;  // zero
  // value * 10^scale.
  explicit Quantity(std::int64_t value, int scale = 0, Format format = Format::kDecimalSI);

  // BadRequest with upstream's text if `text` is no quantity. Non-zero amounts finer than a nano become a
  // nano; binary amounts are capped at 2^63-1. White space is not skipped.
  static Result<Quantity> Parse(std::string_view text);

  // The text upstream would write: what was parsed if that is canonical already ("+1" counts), else
  // canonical.
  std::string ToString() const;

  int Sign() const;
  bool IsZero() const { return Sign() == 0; }
  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == std::strong_ordering::equal; }

  // A zero takes the format of what is added to it.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  Quantity operator-() const;

  // In units of 10^scale, rounded away from zero and capped to 64 bits.
  std::int64_t Scaled(int scale) const;
  std::int64_t Value() const { return Scaled(0); }
  std::int64_t MilliValue() const { return Scaled(kMilli); }
  double ToDouble() const;

  // Rounds away from zero to a multiple of 10^scale. True if nothing was lost.
  bool RoundUp(int scale);

  Format format() const { return format_; }

 private:
  using Wide = __int128;

  static bool KeepsText(std::string_view digits, std::int64_t value, int scale, Format format);
  std::string CanonicalDecimal(Format format) const;
  std::string CanonicalBinary() const;
  bool FitsBinary() const;

  Wide value_ = 0;  // value_ * 10^scale_
  std::int32_t scale_ = 0;
  Format format_ = Format::kDecimalSI;
  std::string text_;  // the parsed text where it may be written as it was
};

// True for most texts that Parse and ToString would give back as they are, even in a resource list, where
// amounts are rounded up to a milli. False says nothing: the way to spare the common case the arithmetic.
bool IsPlainCanonicalQuantity(std::string_view text);

}  // namespace flyball::api
