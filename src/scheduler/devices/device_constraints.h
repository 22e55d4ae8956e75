// Constraints of a claim: devices that must share the value of an attribute, or must all have different ones.
#pragma once

#include <string>
#include <vector>

#include "api/types/resource.h"
#include "scheduler/devices/device_pools.h"
#include "scheduler/devices/device_requests.h"

namespace flyball::scheduler {

// One constraint with the devices chosen so far. Confined to one attempt.
class ConstraintState {
 public:
  explicit ConstraintState(const DeviceConstraint& constraint) : constraint_(constraint) {}

  // Whether the device may be added for the request; then it is.
  bool Add(const DeviceWish& wish, const DeviceId& id, const Device& device);
  // Takes the last device back that was added for the request.
  void Remove(const DeviceWish& wish);

 private:
  const DeviceConstraint& constraint_;
  std::vector<const DeviceAttribute*> values_;
};

}  // namespace flyball::scheduler
