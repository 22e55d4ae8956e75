// The requests of a claim in one form, whether they stand alone or are alternatives of another.
#pragma once

#include <string>
#include <vector>

#include "api/types/resource.h"

namespace flyball::scheduler {

// Borrows from the claim.
struct DeviceWish {
  std::string name;    // "request", or "request/subrequest"
  std::string parent;  // the request an alternative belongs to; equal to `name` otherwise
  const std::string* class_name = nullptr;
  const std::vector<DeviceSelector>* selectors = nullptr;
  const std::vector<DeviceToleration>* tolerations = nullptr;
  const api::Optional<CapacityRequirements>* capacity = nullptr;
  bool all = false;  // every device that matches, rather than a number of them
  std::int64_t count = 1;
  bool admin = false;  // beside the devices' users

  // Whether a list of requests (of a constraint or a setting) means this one. The empty list means all.
  bool IsAmong(const std::vector<std::string>& requests) const;
};

// The alternatives of a request, best first; one unless it has a prioritized list.
std::vector<DeviceWish> WishesOf(const DeviceRequest& request);

// The settings and the node selector of an allocation are filled in from what was chosen.
void AddConfiguration(const ResourceClaimObject& claim, const std::vector<DeviceWish>& chosen,
                      const std::vector<const DeviceClass*>& classes, DeviceAllocationResult& devices);

}  // namespace flyball::scheduler
