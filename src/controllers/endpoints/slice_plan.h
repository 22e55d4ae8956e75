// SlicePlan: which EndpointSlices to create, change and delete so that they hold exactly the endpoints they
// should, changing as few of them as possible (every change goes to every node).
#pragma once

#include <memory>
#include <vector>

#include "api/types/discovery.h"
#include "client/client.h"

namespace flyball::controllers {

// Endpoints in one slice at most (upstream: MaxEndpointsPerSlice).
inline constexpr std::size_t kMaxEndpoints = 100;

struct SlicePlan {
  std::vector<EndpointSlice> create, update;
  std::vector<std::shared_ptr<const EndpointSlice>> remove;

  void Append(SlicePlan other);
};

// `existing` are slices with the ports of `pattern`; new ones are made like it. With no endpoints one empty
// slice is kept if `keep_one`.
void PlanSlices(const std::vector<std::shared_ptr<const EndpointSlice>>& existing,
                const EndpointSlice& pattern, std::vector<Endpoint> endpoints, bool keep_one,
                SlicePlan& plan);

// Turns slices to remove and slices to create, of the same address type, into updates.
void Recycle(SlicePlan& plan);

// Stops at the first failure. What cannot be made because its namespace ends, and what is already gone, is
// none.
Status Execute(const SlicePlan& plan, const Client& client);

}  // namespace flyball::controllers
