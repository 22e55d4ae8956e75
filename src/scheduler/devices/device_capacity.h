// How requests share the capacity of a device that several may use (upstream: consumable capacity).
// Pure functions; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/types/resource.h"
#include "api/values/quantity.h"

namespace flyball::scheduler {

using Amounts = std::map<std::string, api::Quantity>;

// What a request takes of each capacity of the device: what it asks for, rounded up as the device's policy
// says, or what the policy gives to a request that does not say (without a policy, all). Nothing if it asks
// for a capacity that the device does not have, or for an amount that the policy does not allow.
std::optional<Amounts> AmountsOf(const api::Optional<CapacityRequirements>& request, const Device& device);
// Whether `amounts` fit beside what is taken already.
bool Fits(const Amounts& amounts, const Amounts& taken, const Device& device);

}  // namespace flyball::scheduler
