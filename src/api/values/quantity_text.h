// The parts of a quantity's text: sign, digits, suffix. Private to quantity.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/values/quantity.h"

namespace flyball::api {

struct QuantityParts {
  bool negative = false;
  std::string_view number;    // digits before the point, without leading zeros; "0" if there are none
  std::string_view fraction;  // digits after it
  Quantity::Format format = Quantity::Format::kDecimalSI;
  std::int32_t exponent = 0;  // of ten, or of two in the binary format
};

// Wider exponents mean nothing and would only invite overflow.
inline constexpr int kMaxQuantityExponent = 1'000'000;

// "unable to parse quantity's suffix".
Error QuantitySuffixError();

// BadRequest with upstream's two texts: wrong form, or unknown suffix.
Result<QuantityParts> SplitQuantity(std::string_view text);

// "k" for 3, "e21" where no letter exists; "e3" for 3 in the exponent format.
std::string DecimalSuffix(std::int64_t exponent, Quantity::Format format);
// "Ki" for 10; "" for 0.
std::string_view BinarySuffix(int exponent);

}  // namespace flyball::api
