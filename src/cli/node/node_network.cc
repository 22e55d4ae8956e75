#include "cli/node/node_network.h"

#include <filesystem>
#include <map>

#include "api/values/base64.h"
#include "api/values/ip_address.h"
#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "crypto/key_exchange.h"
#include "network/pods/range_choice.h"

namespace flyball::cli {
namespace {

// One of IPv4, and perhaps one of IPv6.
Status CheckAddresses(const std::vector<std::string>& addresses) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto ip = api::ParseIp(addresses[i]);
    if (!ip || !ip->IsGlobalUnicast())
      return Unexpected(BadRequest("--network=on: other nodes cannot reach --address " + addresses[i]));
    if (i > 1 || ip->is_v4 != (i == 0))
      return Unexpected(
          BadRequest("--network=on: --address wants one of IPv4, and after a comma one of IPv6"));
  }
  return {};
}

Result<network::ClusterNetwork> ClusterOf(const JoinedNetworkFlags& flags) {
  network::ClusterNetwork cluster{.pod_cidrs = SplitWords(flags.cluster_cidr, ","),
                                  .dns_address = flags.cluster_dns,
                                  .dns_domain = flags.cluster_domain};
  if (cluster.pod_cidrs.empty() && flags.mode == JoinedNetworkFlags::Mode::kOn)
    return Unexpected(BadRequest("--network=on needs --cluster-cidr, as the controllers have it"));
  for (std::size_t i = 0; i < cluster.pod_cidrs.size(); ++i)
    if (const auto cidr = api::ParseCidr(cluster.pod_cidrs[i]);
        !cidr || i > 1 || cidr->address.is_v4 != (i == 0))
      return Unexpected(BadRequest("--cluster-cidr: \"" + flags.cluster_cidr +
                                   "\" is not a range of IPv4 addresses, and after a comma one of IPv6"));
  return cluster;
}

// Made once, so that other nodes know them after a restart.
Result<network::WireguardKeys> KeysIn(const std::string& data_dir) {
  const std::string path = data_dir + "/wireguard.key";
  network::WireguardKeys keys;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    FLYBALL_ASSIGN(const std::string text, ReadFile(path));
    std::size_t bad = 0;
    if (!api::DecodeBase64(Trimmed(text), keys.private_key, bad))
      return Unexpected(BadRequest(path + " is no key of WireGuard"));
  } else {
    FLYBALL_ASSIGN(keys.private_key, crypto::NewExchangeKey());
    FLYBALL_TRY(WriteFileDurably(path, api::EncodeBase64(keys.private_key) + "\n"));
  }
  FLYBALL_ASSIGN(keys.public_key, crypto::PublicExchangeKey(keys.private_key));
  return keys;
}

}  // namespace

void AddJoinedNetworkFlags(CLI::App& command, JoinedNetworkFlags& flags) {
  using Mode = JoinedNetworkFlags::Mode;
  const std::map<std::string, Mode> kModes = {{"on", Mode::kOn}, {"off", Mode::kOff}, {"cni", Mode::kCni}};
  command
      .add_option("--network", flags.mode,
                  "on: each pod has a network and an address of its own, and Services and network policies "
                  "work; takes root. cni: the same by CNI plugins, without network policies but theirs. off: "
                  "pods share this machine's")
      ->transform(CLI::CheckedTransformer(kModes))
      ->default_str("off");
  command.add_option("--cni-conf-dir", flags.cni_config_folder, "Where CNI plugins are configured")
      ->capture_default_str();
  command
      .add_option("--cni-bin-dir", flags.cni_plugin_folders, "Where CNI plugins are, one folder or several")
      ->capture_default_str();
  command.add_option(
      "--cluster-cidr", flags.cluster_cidr,
      "Where pods' addresses come from, of all nodes: a range of IPv4, or one and a range of IPv6");
  command.add_option("--cluster-dns", flags.cluster_dns,
                     "Address of the DNS server that pods ask by default");
  command.add_option("--cluster-domain", flags.cluster_domain, "Domain of the cluster's names")
      ->capture_default_str();
  command
      .add_option("--network-mtu", flags.mtu,
                  "Size of the packets of pods; 0: as large as the machine's, less what a tunnel needs")
      ->capture_default_str();
  using network::TunnelUse;
  const std::map<std::string, TunnelUse> kTunnels = {
      {"auto", TunnelUse::kNeeded}, {"always", TunnelUse::kAlways}, {"never", TunnelUse::kNever}};
  command
      .add_option(
          "--node-tunnel", flags.tunnels,
          "Whether packets to pods of other nodes go through a tunnel. auto: to nodes that are on no link of "
          "this one")
      ->transform(CLI::CheckedTransformer(kTunnels))
      ->default_str("auto");
  const std::map<std::string, bool> kOverlays = {{"vxlan", false}, {"wireguard", true}};
  command
      .add_option("--overlay", flags.encrypt,
                  "Which tunnel: vxlan, or wireguard, which encrypts and is for all nodes, if the kernel has "
                  "it; the same on all nodes")
      ->transform(CLI::CheckedTransformer(kOverlays))
      ->default_str("vxlan");
}

Result<std::unique_ptr<JoinedNetwork>> JoinedNetwork::Open(const JoinedNetworkFlags& flags,
                                                           const std::string& node,
                                                           const std::vector<std::string>& addresses,
                                                           const std::string& data_dir) {
  FLYBALL_TRY(CheckAddresses(addresses));
  FLYBALL_ASSIGN(network::ClusterNetwork cluster, ClusterOf(flags));
  if (const auto why = network::WhyNoPodNetwork())
    return Unexpected(BadRequest("--network: pods cannot have networks of their own here: " + *why));
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  FLYBALL_ASSIGN(const std::string name, network::RegisterNetwork(data_dir));
  FLYBALL_ASSIGN(const auto ns, network::NetworkNamespace::Current());
  network::NodeNetwork own{.node = node, .name = name, .ns = ns, .addresses = addresses};
  std::unique_ptr<JoinedNetwork> made(new JoinedNetwork());
  if (flags.mode == JoinedNetworkFlags::Mode::kCni) {
    FLYBALL_TRY(made->OpenCni(flags, std::move(own), std::move(cluster), data_dir));
  } else {
    FLYBALL_TRY(made->OpenPods(flags, std::move(own), std::move(cluster), data_dir));
  }
  return made;
}

Status JoinedNetwork::OpenPods(const JoinedNetworkFlags& flags, network::NodeNetwork node,
                               network::ClusterNetwork cluster, const std::string& data_dir) {
  const bool tunnels = flags.tunnels != network::TunnelUse::kNever;
  if (flags.encrypt && !tunnels)
    return Unexpected(BadRequest("--overlay=wireguard and --node-tunnel=never exclude each other"));
  place_ = {.node = node.node,
            .ns = node.ns,
            .tunnels = flags.tunnels,
            .tunnel_link = node.name + "x",
            .address = node.addresses.front()};
  network::PodNetworkOptions options{std::move(node), std::move(cluster),
                                     static_cast<std::uint32_t>(flags.mtu)};
  if (flags.mtu == 0 && tunnels)
    options.mtu_less = flags.encrypt ? network::kWireguardOverhead : network::kVxlanOverhead;
  FLYBALL_ASSIGN(pods_, network::PodNetwork::Open(std::move(options)));
  place_.tunnel_mtu = pods_->mtu();
  if (!flags.encrypt) return {};
  // What is to be encrypted is so on every link.
  place_.tunnels = network::TunnelUse::kAlways;
  FLYBALL_ASSIGN(place_.wireguard, KeysIn(data_dir));
  return {};
}

Status JoinedNetwork::OpenCni(const JoinedNetworkFlags& flags, network::NodeNetwork node,
                              network::ClusterNetwork cluster, const std::string& data_dir) {
  FLYBALL_ASSIGN(cni_,
                 network::CniNetwork::Open({.node = std::move(node),
                                            .cluster = std::move(cluster),
                                            .data_dir = data_dir,
                                            .config_folder = flags.cni_config_folder,
                                            .plugin_folders = SplitWords(flags.cni_plugin_folders, ",")}));
  return {};
}

std::shared_ptr<network::PodAttacher> JoinedNetwork::pods() const {
  if (cni_) return cni_;
  return pods_;
}

// Routes and policies are the plugins' matter.
Status JoinedNetwork::FollowCni(const Client& client) {
  network::NodeFilterOptions options{.policies = false};
  for (const std::string& range : cni_->cluster().pod_cidrs)
    if (const auto cidr = api::ParseCidr(range)) options.pod_cidrs.push_back(*cidr);
  FLYBALL_ASSIGN(filters_, network::NodeFilters::Start(client, {cni_->node()}, std::move(options)));
  return {};
}

Status JoinedNetwork::Follow(const Client& client) {
  if (cni_) return FollowCni(client);
  FLYBALL_ASSIGN(filters_, network::NodeFilters::Start(client, {pods_->node()}));
  pods_->SetOnAttached([filters = std::weak_ptr(filters_), name = pods_->node().node](
                           const Pod& pod, const std::vector<std::string>& ips) {
    const auto alive = filters.lock();
    if (alive && !alive->Attach(name, pod, ips))
      log::Warning("a pod starts before its network policies are in effect",
                   {{"pod", pod.metadata.namespace_ + "/" + pod.metadata.name}});
  });
  FLYBALL_ASSIGN(routes_, network::NodeRoutes::Start(client, {place_}, pods_->cluster().pod_cidrs));
  return {};
}

}  // namespace flyball::cli
