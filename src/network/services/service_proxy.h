// ServiceProxy: keeps a node's packet filter at what Services and EndpointSlices say (upstream: kube-proxy in
// its nftables mode).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/networking.h"
#include "base/run/mutex.h"
#include "controller/manager.h"
#include "network/conntrack/conntrack.h"
#include "network/netlink/network_namespace.h"
#include "network/nft/nftables.h"
#include "network/services/health_check_ports.h"
#include "network/services/proxy_metrics.h"
#include "network/services/service_table.h"

namespace flyball::network {

struct ServiceProxyOptions {
  std::string node_name;
  NetworkNamespace::Ptr ns{};  // where the node's packet filter is; null: where Add is called
  std::string table = "flyball-services";
  std::uint32_t masquerade_mark = 0x4000;
  bool masquerade_all = false;
  LocalTraffic local{};
  // Where NodePorts are open: CIDRs, "primary" (the addresses in the Node's status), "all".
  std::vector<std::string> node_port_addresses{"primary"};
  std::vector<IpFamily> families{IpFamily::kV4, IpFamily::kV6};
  // Changes that come sooner after the last transaction wait for the rest of this time, and share one.
  Duration min_sync_period = std::chrono::milliseconds(50);
};

// How far behind the proxy is, as /healthz tells it.
struct ProxyHealth {
  TimePoint last_updated{};
  std::optional<TimePoint> waiting_since{};  // the oldest change that is not applied
};

// Thread-safe.
class ServiceProxy : public std::enable_shared_from_this<ServiceProxy> {
 public:
  // Adds the loop to a manager, which runs it on every replica as long as somebody has the proxy. Several
  // nodes can share a manager. Fails if nftables cannot be used.
  static Result<std::shared_ptr<ServiceProxy>> Add(Manager& manager, ServiceProxyOptions options);
  ~ServiceProxy();

  ProxyHealth Health() const;
  // No change has waited for longer than kHealthTimeout.
  bool healthy() const;
  // Null if there is no such Node.
  std::shared_ptr<const Node> node() const;
  // Deletes what it has made. After the manager has stopped.
  void RemoveTables();

 private:
  struct Family;
  ServiceProxy(Manager& manager, ServiceProxyOptions options);
  Status Open();
  Status Watch();
  void MarkService(const std::string& key);
  void MarkSlice(const EndpointSlice& slice);
  void MarkAll();
  void Schedule();

  Result<Action> Sync(Context& context);
  std::set<std::string> TakeDirty();
  void UpdateTables(const std::set<std::string>& dirty);
  void UpdateService(const std::string& key);
  void UpdateNode();
  void UpdateServiceNetworks();
  Status Apply(Family& family);
  void ForgetFlows(Family& family);
  void UpdateHealthChecks(Context& context);

  Manager& manager_;
  const Clock& clock_;
  const ServiceProxyOptions options_;
  const Lister<Service> services_;
  const Lister<EndpointSlice> slices_;
  const Lister<Node> nodes_;
  const Lister<ServiceCIDR> networks_;
  ProxyChangeMetrics changes_;
  std::shared_ptr<Controller> controller_;

  // Confined to the controller's only worker.
  std::vector<std::unique_ptr<Family>> families_;
  std::unique_ptr<Conntrack> conntrack_;
  HealthCheckPorts health_checks_;
  std::set<std::string> health_checked_;  // Services that have such a port
  NodePlace place_;
  std::vector<api::IpAddress> node_addresses_;

  mutable Mutex mu_;
  std::set<std::string> dirty_ FLYBALL_GUARDED_BY(mu_);
  bool all_dirty_ FLYBALL_GUARDED_BY(mu_) = true;
  ProxyHealth health_ FLYBALL_GUARDED_BY(mu_);
  SteadyTime last_sync_ FLYBALL_GUARDED_BY(mu_){};
};

}  // namespace flyball::network
