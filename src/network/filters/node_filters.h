// NodeFilters: Services and network policies of all nodes that one program runs, over one set of caches.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/manager.h"
#include "network/node_network.h"
#include "network/policy/policy_enforcer.h"
#include "network/services/service_proxy.h"

namespace flyball::network {

struct NodeFilterOptions {
  bool policies = true;  // false: somebody else keeps to them
  // Where pods' packets come from if not by links of their own; see ServiceProxyOptions::local.
  std::vector<api::Cidr> pod_cidrs{};
};

// Thread-safe.
class NodeFilters {
 public:
  // `client` may read Services, EndpointSlices, ServiceCIDRs, Nodes, Pods, Namespaces and NetworkPolicies.
  static Result<std::unique_ptr<NodeFilters>> Start(Client client, const std::vector<NodeNetwork>& nodes,
                                                    NodeFilterOptions options = {});
  // Stops. The rules stay, for whoever comes next.
  ~NodeFilters();

  // PolicyEnforcer::Attach of that node; false if it is not one of these.
  bool Attach(const std::string& node, const Pod& pod, const std::vector<std::string>& ips);

 private:
  NodeFilters(Client client, NodeFilterOptions options)
      : options_(std::move(options)),
        manager_(std::move(client), {.name = "node-filters", .drop_managed_fields = true}) {}
  Status Add(const NodeNetwork& node);

  const NodeFilterOptions options_;
  Manager manager_;
  std::vector<std::shared_ptr<ServiceProxy>> proxies_;
  std::map<std::string, std::shared_ptr<PolicyEnforcer>> enforcers_;
};

}  // namespace flyball::network
