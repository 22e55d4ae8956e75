#include "scheduler/devices/device_capacity.h"

#include <algorithm>
#include <limits>

namespace flyball::scheduler {
namespace {

using api::Quantity;

bool IsMilli(const Quantity& quantity) {
  return Quantity(quantity.MilliValue(), Quantity::kMilli) == quantity;
}

// Steps are counted in thousandths if everything in the range is a whole number of them.
int ScaleOf(const CapacityRequestPolicyRange& range) {
  const bool milli = (!range.min || IsMilli(*range.min)) && (!range.max || IsMilli(*range.max)) &&
                     (!range.step || (IsMilli(*range.step) && range.step->MilliValue() >= 1));
  return milli ? Quantity::kMilli : 0;
}

// The next step at or above the request; nothing if that cannot be represented.
std::optional<Quantity> RoundUpToStep(const Quantity& request, const CapacityRequestPolicyRange& range) {
  const int scale = ScaleOf(range);
  if (scale == Quantity::kMilli && !IsMilli(request)) return std::nullopt;
  const std::int64_t step = range.step->Scaled(scale), min = range.min->Scaled(scale);
  if (step <= 0) return std::nullopt;
  const std::int64_t added = request.Scaled(scale) - min;
  const std::int64_t steps = added / step + (added % step != 0 ? 1 : 0);
  if (min < 0 || steps > (std::numeric_limits<std::int64_t>::max() - min) / step) return std::nullopt;
  return Quantity(min + step * steps, scale, range.step->format());
}

std::optional<Quantity> RoundUp(const Quantity& request, const CapacityRequestPolicy& policy) {
  if (policy.valid_range && policy.valid_range->min) {
    const CapacityRequestPolicyRange& range = *policy.valid_range;
    if (request < *range.min) return *range.min;
    return range.step ? RoundUpToStep(request, range) : request;
  }
  for (const Quantity& valid : policy.valid_values)
    if (request <= valid) return valid;
  return request;
}

bool IsAllowed(const Quantity& amount, const CapacityRequestPolicy& policy) {
  if (policy.default_ && amount == *policy.default_) return true;
  if (policy.valid_range) return !policy.valid_range->max || amount <= *policy.valid_range->max;
  return policy.valid_values.empty() || std::find(policy.valid_values.begin(), policy.valid_values.end(),
                                                  amount) != policy.valid_values.end();
}

std::optional<Quantity> AmountOf(const Quantity* request, const DeviceCapacity& capacity) {
  const auto& policy = capacity.request_policy;
  if (request == nullptr) return policy && policy->default_ ? *policy->default_ : capacity.value;
  if (!policy) return *request;
  const auto amount = RoundUp(*request, *policy);
  return amount && IsAllowed(*amount, *policy) ? amount : std::nullopt;
}

}  // namespace

std::optional<Amounts> AmountsOf(const api::Optional<CapacityRequirements>& request, const Device& device) {
  static const Amounts kNothing;
  const Amounts& wanted = request ? request->requests : kNothing;
  for (const auto& [name, amount] : wanted)
    if (!device.capacity.contains(name)) return std::nullopt;
  Amounts amounts;
  for (const auto& [name, capacity] : device.capacity) {
    const auto found = wanted.find(name);
    auto amount = AmountOf(found == wanted.end() ? nullptr : &found->second, capacity);
    if (!amount) return std::nullopt;
    amounts.emplace(name, *std::move(amount));
  }
  return amounts;
}

bool Fits(const Amounts& amounts, const Amounts& taken, const Device& device) {
  for (const auto& [name, amount] : amounts) {
    const auto before = taken.find(name);
    const Quantity total = before == taken.end() ? amount : before->second + amount;
    if (total > device.capacity.at(name).value) return false;
  }
  return true;
}

}  // namespace flyball::scheduler
