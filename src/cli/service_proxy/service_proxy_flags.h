// The flags of `flyball service-proxy`, which are kube-proxy's, and its configuration file.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "network/services/service_proxy.h"

namespace CLI {
class App;
}

namespace flyball::cli {

struct ServiceProxyFlags {
  std::string kubeconfig, master, config, node_name;
  std::string cluster_cidr, detect_local_mode, bridge_interface, interface_prefix;
  std::vector<std::string> node_port_addresses;
  std::string healthz_address = "0.0.0.0:10256", metrics_address = "127.0.0.1:10249";
  std::string min_sync_period = "50ms";
  int masquerade_bit = 14;
  bool masquerade_all = false, cleanup = false;

  void Define(CLI::App& command);
  // Reads --config, whose fields take the place of all flags but --kubeconfig, --master and
  // --hostname-override (upstream does the same). BadRequest, naming it, if a value makes no sense.
  Status Complete();
  // Of the node that it runs on; NodeCIDR is filled in by the caller, who knows the Node.
  Result<network::ServiceProxyOptions> Options() const;
};

}  // namespace flyball::cli
