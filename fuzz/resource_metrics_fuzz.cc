// What nodes say they use: any text is read, and what was read is measured without surprises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/usage_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const flyball::TimePoint now{std::chrono::hours(400000)};
  flyball::metrics::UsageSamples samples;
  samples.Add(flyball::metrics::ParseResourceMetrics(text.substr(0, size / 2), now), false);
  samples.Add(flyball::metrics::ParseResourceMetrics(text.substr(size / 2), now), false);
  if (const auto usage = samples.Node(); usage && usage->window <= flyball::Duration::zero()) std::abort();
  (void)samples.Pod("n", "p");
  return 0;
}
