// Device pools: the devices that a node can reach, as drivers publish them in slices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/select/devices.h"
#include "api/types/core.h"
#include "api/types/resource.h"

namespace flyball::scheduler {

using SlicePtr = std::shared_ptr<const ResourceSlice>;
using TaintRulePtr = std::shared_ptr<const DeviceTaintRule>;

// A pool as one node sees it. Borrows from the slices.
struct DevicePool {
  std::string driver, name;
  bool incomplete = false;                   // the driver is still publishing it: nothing is taken from it
  bool invalid = false;                      // two of its devices or sets of counters have the same name
  std::vector<const ResourceSlice*> slices;  // with devices that the node can reach
  std::vector<const ResourceSlice*> all_slices;  // of the whole pool
};

// The pools that have something for the node, by driver and name; those with devices that bind only under
// conditions come last. Of each pool only the newest generation counts.
std::vector<DevicePool> GatherPools(const std::vector<SlicePtr>& slices, const Node& node);
// Whether the node reaches a device, if its slice leaves that to the devices.
bool ReachesDevice(const Node& node, const ResourceSlice& slice, const Device& device);
bool MatchesNode(const NodeSelector& selector, const Node& node);

// The taints of a device: its own, and those of rules that select it.
std::vector<DeviceTaint> TaintsOf(const DeviceId& id, const Device& device,
                                  const std::vector<TaintRulePtr>& rules);

}  // namespace flyball::scheduler
