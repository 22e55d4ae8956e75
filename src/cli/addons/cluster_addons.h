// ClusterAddons: what a local cluster has besides its components: the name server, the ingress, and who gives
// addresses to Services of type LoadBalancer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/manager.h"
#include "dns/cluster_dns.h"
#include "dns/dns_service.h"
#include "json/json.h"
#include "network/balancer/balancer_controller.h"
#include "network/ingress/cluster_ingress.h"

namespace flyball::cli {

// Whom the add-ons act as, and the roles that say what they may do: read Services, their endpoints,
// namespaces, pods and Ingresses, the Secrets that Ingresses name, keep the Service kube-dns, and write the
// status of Services and Ingresses.
inline constexpr char kAddonsUser[] = "system:flyball:addons";
std::vector<json::Value> AddonRoles();

// Thread-safe.
class ClusterAddons {
 public:
  struct Options {
    // The name server, and the Service that leads to it; its endpoint's port is the server's.
    struct Dns {
      dns::DnsServerOptions server{};
      dns::DnsServiceOptions service{};
    };
    std::optional<Dns> dns{};
    std::optional<network::IngressOptions> ingress{};
    std::optional<network::BalancerOptions> balancer{};
  };
  // `client`: as kAddonsUser. Its runtime outlives the add-ons.
  static Result<std::unique_ptr<ClusterAddons>> Start(const Client& client, const Options& options);
  ~ClusterAddons();

  const network::ClusterIngress* ingress() const { return ingress_.get(); }

 private:
  explicit ClusterAddons(const Client& client);
  Status StartDns(const Options::Dns& options);

  Manager manager_;
  std::unique_ptr<dns::ClusterDns> dns_;
  std::unique_ptr<network::ClusterIngress> ingress_;
};

}  // namespace flyball::cli
