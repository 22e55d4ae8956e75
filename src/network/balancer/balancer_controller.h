// Gives Services of type LoadBalancer their addresses (upstream: a cloud's service controller).
#pragma once

#include <string>

#include "controller/manager.h"
#include "network/balancer/balancer_addresses.h"

namespace flyball::network {

struct BalancerOptions {
  BalancerPool pool{};
  std::string link{};  // for the addresses of ranges (address_announcer.h)
};

// The machine's part: its namespace is that of the calling thread. `manager` may write the status of
// Services, and events. A Service that gets none has an event SyncLoadBalancerFailed that says why; one that
// is no balancer any more loses what it had. Fails if the link cannot be used.
Status AddBalancerController(Manager& manager, const BalancerOptions& options);

}  // namespace flyball::network
