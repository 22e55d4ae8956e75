// Quantities, times, durations: any text is parsed or refused, and what parses reads back as the same value.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/values/duration.h"
#include "api/values/quantity.h"
#include "api/values/time.h"

namespace {

using namespace flyball::api;

void CheckQuantity(std::string_view text) {
  const auto quantity = Quantity::Parse(text);
  if (!quantity) return;
  const auto again = Quantity::Parse(quantity->ToString());
  if (!again || *again != *quantity) std::abort();
  if (-(-*quantity) != *quantity || !(*quantity - *quantity).IsZero()) std::abort();
  if (Quantity rounded = *quantity; rounded.RoundUp(Quantity::kMilli) && rounded != *quantity) std::abort();
}

void CheckTime(std::string_view text) {
  if (const auto time = ParseTime(text)) {
    const auto again = ParseTime(FormatTime(*time));
    const bool in_range = time->seconds >= Time::kZeroSeconds && time->seconds <= 253402300799;
    if (in_range && (!again || again->seconds != time->seconds)) std::abort();
  }
  if (const auto time = ParseMicroTime(text)) FormatMicroTime(*time);
}

void CheckDuration(std::string_view text) {
  const auto duration = ParseDuration(text);
  if (!duration) return;
  const auto again = ParseDuration(FormatDuration(*duration));
  if (!again || *again != *duration) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckQuantity(text);
  CheckTime(text);
  CheckDuration(text);
  return 0;
}
