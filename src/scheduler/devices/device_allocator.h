// DeviceAllocator: finds devices for claims on a node (upstream: dynamic-resource-allocation/structured).
//
// Flow: claims in order, of each claim its requests in order, of each request one device after the other.
// Each choice is tried and, if the rest cannot be satisfied with it, taken back: the first full solution
// counts. A device is free unless a claim has it; it must match the selectors of the class and the request,
// its taints must be tolerated, its counters and capacity must suffice, and the constraints of the claim must
// hold.
//
// Devices that bind only under conditions (binding conditions) are left alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/run/random.h"
#include "scheduler/devices/device_capacity.h"
#include "scheduler/devices/device_pools.h"
#include "scheduler/devices/device_selectors.h"

namespace flyball::scheduler {

using ClaimPtr = std::shared_ptr<const ResourceClaimObject>;
using ClassPtr = std::shared_ptr<const DeviceClass>;

// What there is, and what is taken. Valid for one attempt.
struct DeviceInventory {
  std::vector<SlicePtr> slices;
  std::vector<TaintRulePtr> rules;
  std::map<std::string, ClassPtr> classes;
  std::set<DeviceId> allocated;        // to one claim each
  std::map<DeviceId, Amounts> shared;  // devices that several claims share, with what these have taken

  // Counts the devices of an allocation as taken.
  void Take(const AllocationResult& allocation);
};

// Confined to one attempt; borrows what it is made from.
class DeviceAllocator {
 public:
  DeviceAllocator(const DeviceInventory& inventory, DeviceSelectors& selectors, Random& random)
      : inventory_(inventory), selectors_(selectors), random_(random) {}

  // One allocation per claim; nothing if the node does not have the devices. BadRequest if a claim or a class
  // is wrong in a way that no node can help.
  Result<std::optional<std::vector<AllocationResult>>> Allocate(const Node& node,
                                                                const std::vector<ClaimPtr>& claims);

 private:
  const DeviceInventory& inventory_;
  DeviceSelectors& selectors_;
  Random& random_;
};

}  // namespace flyball::scheduler
