// ServiceEndpoint: one backend of a port of a Service, from its EndpointSlices (upstream: pkg/proxy
// EndpointSliceCache), and which of them a node sends traffic to (upstream: CategorizeEndpoints). Values;
// thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/discovery.h"
#include "network/services/service_port.h"

namespace flyball::network {

// Where packets are sent to.
struct Target {
  api::IpAddress address;
  std::uint16_t port = 0;
  bool operator==(const Target&) const = default;
  // Any order that is total.
  bool operator<(const Target& other) const;
};

struct ServiceEndpoint {
  Target target;
  bool local = false;  // on this node
  bool ready = true, serving = true, terminating = false;
  std::vector<std::string> zones, nodes;  // that should prefer it; empty: no hint
};

// The node that chooses.
struct NodePlace {
  std::string name, zone;
};

using EndpointSlices = std::vector<std::shared_ptr<const EndpointSlice>>;

// The backends of the port in its family, each address and port once, sorted.
std::vector<ServiceEndpoint> EndpointsOf(const EndpointSlices& slices, const ServicePortInfo& port,
                                         std::string_view node);

struct EndpointChoice {
  std::vector<Target> cluster;  // for the traffic policy Cluster
  std::vector<Target> local;    // for the traffic policy Local
  bool any = false;             // somebody could answer, on whatever node
};

// Ready endpoints, or those that end but still serve if none is ready; of the same node or zone if all hints
// are there.
EndpointChoice ChooseEndpoints(const std::vector<ServiceEndpoint>& endpoints, const ServicePortInfo& port,
                               const NodePlace& place);

}  // namespace flyball::network
