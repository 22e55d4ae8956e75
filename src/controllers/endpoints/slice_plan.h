// SlicePlan: decides which EndpointSlices to create, change and delete so that they hold exactly the wanted
// endpoints, with as few changes as possible (every change is sent to every node).
#pragma once

#include <memory>
#include <vector>

#include "api/types/discovery.h"
#include "client/client.h"

namespace flyball::controllers {

// The most endpoints in one slice (upstream: MaxEndpointsPerSlice).
inline constexpr std::size_t kMaxEndpoints = 100;

struct SlicePlan {
  std::vector<EndpointSlice> create, update;
  std::vector<std::shared_ptr<const EndpointSlice>> remove;

  void Append(SlicePlan other);
};

// `existing` are slices with the ports of `pattern`; new slices are created like it. Without endpoints, one
// empty slice is kept if `keep_one`.
void PlanSlices(const std::vector<std::shared_ptr<const EndpointSlice>>& existing,
                const EndpointSlice& pattern, std::vector<Endpoint> endpoints, bool keep_one,
                SlicePlan& plan);

// Turns pairs of a slice to delete and a slice to create, of the same address type, into updates.
void Recycle(SlicePlan& plan);

// Stops at the first failure. A slice that cannot be created because its namespace is being deleted, or that
// is already gone, is not a failure.
Status Execute(const SlicePlan& plan, const Client& client);

}  // namespace flyball::controllers
