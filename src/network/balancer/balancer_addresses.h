// Which Services of type LoadBalancer get which address. Values and pure functions; thread-compatible.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/values/ip_address.h"
#include "base/values/result.h"

namespace flyball::network {

// Services with this class, or with none, are served.
inline constexpr char kBalancerClass[] = "flyball.dev/load-balancer";

struct AddressRange {
  api::IpAddress first, last;  // of one family
  bool Contains(const api::IpAddress& address) const;
};

// "192.0.2.16/28" or "192.0.2.16-192.0.2.40", several by commas. All addresses of a range are used.
// BadRequest if it cannot be read, or for ranges of more than 65,536 addresses.
Result<std::vector<AddressRange>> ParseAddressRanges(const std::string& text);

struct BalancerPool {
  // An address of these belongs to one Service.
  std::vector<AddressRange> ranges;
  // Used when there are no ranges: the node's own, one per family. Services share them by their ports.
  std::vector<api::IpAddress> shared;

  bool Contains(const api::IpAddress& address) const;
};

struct BalancerPlan {
  std::map<std::string, std::vector<api::IpAddress>> addresses;  // by namespace/name; one per family
  std::map<std::string, std::string> refused;                    // why a Service gets none, for people
};

// True for Services that a plan gives addresses.
bool WantsBalancer(const Service& service);
// The addresses in the status, as far as they can be read.
std::vector<api::IpAddress> BalancerAddressesOf(const Service& service);

// What each Service should have. One keeps the addresses in its status while they are in the pool and no
// older Service has them; `spec.loadBalancerIP` asks for a certain one. Other Services are looked at in the
// order of their age.
BalancerPlan PlanBalancers(const BalancerPool& pool,
                           const std::vector<std::shared_ptr<const Service>>& services);

}  // namespace flyball::network
