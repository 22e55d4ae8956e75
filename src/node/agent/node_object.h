// The Node object: what the machine is and has, as kubelet reports it.
#pragma once

#include <map>
#include <string>

#include "api/types/core.h"
#include "base/run/clock.h"
#include "controller/events/event_recorder.h"
#include "node/eviction/eviction_thresholds.h"

namespace flyball::node {

using ResourceList = std::map<std::string, api::Quantity>;

// CPUs, memory and disk of this machine; 110 pods, as kubelet.
ResourceList MachineCapacity(const std::string& data_dir);
// What a simulated node claims to have: room for a thousand small pods.
ResourceList SimCapacity();

// What pods may have: the capacity without what is reserved, and without what makes the node evict pods.
// Never below nothing.
ResourceList AllocatableOf(const ResourceList& capacity, const ResourceList& reserved,
                           const EvictionThresholds& eviction);

struct NodeDescription {
  std::string name;
  std::vector<std::string> addresses;  // the first one is where its server is; one of each IP family
  int port = 0;                        // of the agent's server; 0: none
  ResourceList capacity, allocatable;
  std::map<std::string, std::string> labels;  // further ones
  std::string runtime_version;                // "native://0.1.0"
};

// Of events about a node: as kubelet, by its name alone.
EventTarget NodeTarget(const std::string& name);

// Name, labels and status, with all conditions good and stamped `now`.
Node MakeNode(const NodeDescription& description, TimePoint now);

}  // namespace flyball::node
