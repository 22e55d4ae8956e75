// Which flows of UDP still lead to an endpoint that is gone (upstream: pkg/proxy/conntrack
// CleanStaleEntries).
#pragma once

#include <map>
#include <vector>

#include "network/conntrack/conntrack.h"
#include "network/services/service_rules.h"

namespace flyball::network {

// Thread-compatible.
class StaleUdpFlows {
 public:
  // Adds the places of a Service whose serving endpoints are not what they were.
  void Compare(const ServiceRules& before, const ServiceRules& after);
  bool empty() const { return serving_.empty(); }
  bool Contains(const TrackedFlow& flow) const;

 private:
  void Add(const Place& place, const std::vector<Target>& serving);

  std::map<Place, std::vector<Target>> serving_;  // sorted
};

}  // namespace flyball::network
