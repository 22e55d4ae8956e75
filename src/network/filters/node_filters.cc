#include "network/filters/node_filters.h"

#include "base/run/notification.h"

namespace flyball::network {

Status NodeFilters::Add(const NodeNetwork& node) {
  ServiceProxyOptions services;
  services.node_name = node.node;
  services.ns = node.ns;
  services.table = node.Table("services");
  services.masquerade_mark = kMasqueradeMark;
  if (options_.policies)
    services.local.interface = node.PodLinks();
  else
    services.local.cidrs = options_.pod_cidrs;
  FLYBALL_ASSIGN(auto proxy, ServiceProxy::Add(manager_, std::move(services)));
  proxies_.push_back(std::move(proxy));
  if (!options_.policies) return {};
  PolicyEnforcerOptions policies;
  policies.node_name = node.node;
  policies.ns = node.ns;
  policies.table = node.Table("policies");
  FLYBALL_ASSIGN(enforcers_[node.node], PolicyEnforcer::Add(manager_, std::move(policies)));
  return {};
}

Result<std::unique_ptr<NodeFilters>> NodeFilters::Start(Client client, const std::vector<NodeNetwork>& nodes,
                                                        NodeFilterOptions options) {
  std::unique_ptr<NodeFilters> filters(new NodeFilters(std::move(client), std::move(options)));
  for (const NodeNetwork& node : nodes) FLYBALL_TRY(filters->Add(node));
  FLYBALL_TRY(filters->manager_.Start());
  return filters;
}

NodeFilters::~NodeFilters() {
  const auto stopped = std::make_shared<Notification<bool>>();
  manager_.Stop([stopped] { stopped->Set(true); });
  stopped->Wait();
}

bool NodeFilters::Attach(const std::string& node, const Pod& pod, const std::vector<std::string>& ips) {
  const auto enforcer = enforcers_.find(node);
  return enforcer != enforcers_.end() && enforcer->second->Attach(pod, ips);
}

}  // namespace flyball::network
