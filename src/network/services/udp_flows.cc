#include "network/services/udp_flows.h"

#include <algorithm>

namespace flyball::network {

void StaleUdpFlows::Add(const Place& place, const std::vector<Target>& serving) {
  // A NodePort is told by its number only. Without endpoints that would hit flows of others to that port.
  if (place.node_port && serving.empty()) return;
  serving_[place] = serving;
}

void StaleUdpFlows::Compare(const ServiceRules& before, const ServiceRules& after) {
  static const std::vector<Target> none;
  for (const auto& [place, serving] : after.udp_serving) {
    const auto known = before.udp_serving.find(place);
    if (known == before.udp_serving.end() || *known->second != *serving) Add(place, *serving);
  }
  for (const auto& [place, serving] : before.udp_serving)
    if (!after.udp_serving.count(place)) Add(place, none);
}

bool StaleUdpFlows::Contains(const TrackedFlow& flow) const {
  auto place = serving_.find(Place{false, flow.sent_to, TransportProtocol::kUdp, flow.sent_to_port});
  if (place == serving_.end())
    place = serving_.find(Place{true, {}, TransportProtocol::kUdp, flow.sent_to_port});
  if (place == serving_.end()) return false;
  return !std::binary_search(place->second.begin(), place->second.end(),
                             Target{flow.answered_by, flow.answered_by_port});
}

}  // namespace flyball::network
