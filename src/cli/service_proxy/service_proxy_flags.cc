#include "cli/service_proxy/service_proxy_flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>

#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kLongestInterface = 15;  // IFNAMSIZ without the final zero

// A file of kind KubeProxyConfiguration, field by field.
class ProxyConfigFile {
 public:
  explicit ProxyConfigFile(json::Value value) : value_(std::move(value)) {}

  using Path = std::initializer_list<std::string_view>;
  void Read(Path path, std::string& to) const {
    const json::Value* found = value_.FindPath(path);
    if (found && found->is_string() && !found->as_string().empty()) to = found->as_string();
  }
  void Read(Path path, bool& to) const {
    const json::Value* found = value_.FindPath(path);
    if (found && found->is_bool()) to = found->as_bool();
  }
  void Read(Path path, int& to) const {
    const json::Value* found = value_.FindPath(path);
    if (found && found->is_int()) to = static_cast<int>(found->as_int());
  }
  void Read(Path path, std::vector<std::string>& to) const {
    const json::Value* found = value_.FindPath(path);
    if (!found || !found->is_array()) return;
    to.clear();
    for (const json::Value& item : found->as_array())
      if (item.is_string()) to.emplace_back(item.as_string());
  }

 private:
  const json::Value value_;
};

Result<ProxyConfigFile> ReadConfigFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Unexpected(BadRequest("--config: cannot read " + path));
  std::stringstream text;
  text << file.rdbuf();
  FLYBALL_ASSIGN(json::Value value, json::ParseYaml(text.str()));
  const json::Value* kind = value.Find("kind");
  if (!kind || !kind->is_string() || kind->as_string() != "KubeProxyConfiguration")
    return Unexpected(BadRequest("--config: " + path + " is not of kind KubeProxyConfiguration"));
  return ProxyConfigFile(std::move(value));
}

std::string HostName() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "";
  return LowerCase(host);
}

Status CheckInterface(const char* flag, const std::string& name) {
  const bool plain = std::all_of(
      name.begin(), name.end(), [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
  if (name.empty() || name.size() > kLongestInterface || !plain)
    return Unexpected(BadRequest(std::string(flag) + ": \"" + name + "\" is no name of an interface"));
  return {};
}

Result<std::vector<api::Cidr>> ParseNetworks(const std::string& list) {
  std::vector<api::Cidr> networks;
  std::stringstream texts(list);
  for (std::string text; std::getline(texts, text, ',');) {
    const auto network = api::ParseCidr(Trimmed(text));
    if (!network) return Unexpected(BadRequest("--cluster-cidr: \"" + text + "\" is no network"));
    networks.push_back(*network);
  }
  return networks;
}

}  // namespace

void ServiceProxyFlags::Define(CLI::App& command) {
  command.add_option("--kubeconfig", kubeconfig, "How to reach the API server");
  command.add_option("--master", master, "URL of the API server, in place of the kubeconfig's");
  command.add_option(
      "--config", config,
      "File of kind KubeProxyConfiguration; it takes the place of all flags besides --kubeconfig, "
      "--master and --hostname-override");
  command.add_option("--hostname-override", node_name,
                     "Name of the Node that this is; the hostname if absent");
  command.add_option(
      "--cluster-cidr", cluster_cidr,
      "Networks of the cluster's pods; what comes from elsewhere to a cluster IP is masqueraded");
  command.add_option(
      "--detect-local-mode", detect_local_mode,
      "How this node's pods are told: ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix");
  command.add_option("--pod-bridge-interface", bridge_interface, "For BridgeInterface");
  command.add_option("--pod-interface-name-prefix", interface_prefix, "For InterfaceNamePrefix");
  command
      .add_option(
          "--nodeport-addresses", node_port_addresses,
          "Where NodePorts are open: networks, primary (the Node's addresses), all; primary if absent")
      ->delimiter(',');
  command
      .add_option("--healthz-bind-address", healthz_address, "Serve /healthz and /livez there; empty: do not")
      ->capture_default_str();
  command.add_option("--metrics-bind-address", metrics_address, "Serve /metrics there; empty: do not")
      ->capture_default_str();
  command
      .add_option("--masquerade-all", masquerade_all, "Masquerade everything that is sent to a cluster IP")
      ->expected(0, 1)
      ->default_str("false");
  command
      .add_option("--iptables-masquerade-bit", masquerade_bit,
                  "The bit of packet marks that says what to masquerade")
      ->capture_default_str();
  command
      .add_option("--min-sync-period", min_sync_period,
                  "Changes that come sooner after the last one share a transaction")
      ->capture_default_str();
  command.add_flag("--cleanup", cleanup, "Delete all rules of this program and exit");
}

Status ServiceProxyFlags::Complete() {
  if (!config.empty()) {
    FLYBALL_ASSIGN(const ProxyConfigFile file, ReadConfigFile(config));
    if (kubeconfig.empty()) file.Read({"clientConnection", "kubeconfig"}, kubeconfig);
    if (node_name.empty()) file.Read({"hostnameOverride"}, node_name);
    file.Read({"clusterCIDR"}, cluster_cidr);
    file.Read({"detectLocalMode"}, detect_local_mode);
    file.Read({"detectLocal", "bridgeInterface"}, bridge_interface);
    file.Read({"detectLocal", "interfaceNamePrefix"}, interface_prefix);
    file.Read({"nodePortAddresses"}, node_port_addresses);
    file.Read({"healthzBindAddress"}, healthz_address);
    file.Read({"metricsBindAddress"}, metrics_address);
    file.Read({"nftables", "masqueradeBit"}, masquerade_bit);
    file.Read({"nftables", "masqueradeAll"}, masquerade_all);
    file.Read({"nftables", "minSyncPeriod"}, min_sync_period);
  }
  if (node_name.empty()) node_name = HostName();
  if (node_name.empty())
    return Unexpected(BadRequest("cannot tell the node's name: give --hostname-override"));
  if (detect_local_mode.empty()) detect_local_mode = "ClusterCIDR";
  if (node_port_addresses.empty()) node_port_addresses = {"primary"};
  return {};
}

Result<network::ServiceProxyOptions> ServiceProxyFlags::Options() const {
  network::ServiceProxyOptions options;
  options.node_name = node_name;
  if (masquerade_bit < 0 || masquerade_bit > 31)
    return Unexpected(BadRequest("--iptables-masquerade-bit must be within the range [0, 31]"));
  options.masquerade_mark = 1u << masquerade_bit;
  options.masquerade_all = masquerade_all;
  options.node_port_addresses = node_port_addresses;
  for (const std::string& text : node_port_addresses)
    if (text != "primary" && text != "all" && text != "localhost" && !api::ParseCidr(text))
      return Unexpected(BadRequest("--nodeport-addresses: \"" + text + "\" is no network"));
  FLYBALL_ASSIGN(options.min_sync_period, api::ParseDuration(min_sync_period));
  if (detect_local_mode == "ClusterCIDR") {
    FLYBALL_ASSIGN(options.local.cidrs, ParseNetworks(cluster_cidr));
  } else if (detect_local_mode == "BridgeInterface") {
    FLYBALL_TRY(CheckInterface("--pod-bridge-interface", bridge_interface));
    options.local.interface = bridge_interface;
  } else if (detect_local_mode == "InterfaceNamePrefix") {
    FLYBALL_TRY(CheckInterface("--pod-interface-name-prefix", interface_prefix));
    options.local.interface = interface_prefix + "*";
  } else if (detect_local_mode != "NodeCIDR") {
    return Unexpected(
        BadRequest("--detect-local-mode: \"" + detect_local_mode +
                   "\" is none of ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix"));
  }
  return options;
}

}  // namespace flyball::cli
