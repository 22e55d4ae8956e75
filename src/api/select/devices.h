// Which devices a taint rule means, and which taints a toleration means. Pure functions; thread-safe.
#pragma once

#include <compare>
#include <string>

#include "api/types/resource.h"

namespace flyball {

struct DeviceId {
  std::string driver, pool, device;
  auto operator<=>(const DeviceId&) const = default;
  // "driver/pool/device".
  std::string ToString() const { return driver + "/" + pool + "/" + device; }
};

DeviceId IdOf(const DeviceRequestAllocationResult& allocated);

// Every field of the selector that is set is equal. A rule without a selector means no device.
bool Selects(const DeviceTaintRule& rule, const DeviceId& id);
// Upstream: resourceclaim.ToleratesTaint.
bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint);

}  // namespace flyball
