#include "cli/node/node_network.h"

#include <filesystem>
#include <map>

#include "api/values/ip_address.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "network/pods/range_choice.h"

namespace flyball::cli {
namespace {

Status CheckAddress(const std::string& address) {
  const auto ip = api::ParseIp(address);
  if (ip && ip->IsGlobalUnicast()) return {};
  return Unexpected(BadRequest("--network=on: other nodes cannot reach --address " + address));
}

Result<network::ClusterNetwork> ClusterOf(const JoinedNetworkFlags& flags) {
  network::ClusterNetwork cluster{.pod_cidrs = SplitWords(flags.cluster_cidr, ","),
                                  .dns_address = flags.cluster_dns,
                                  .dns_domain = flags.cluster_domain};
  if (cluster.pod_cidrs.empty())
    return Unexpected(BadRequest("--network=on needs --cluster-cidr, as the controllers have it"));
  for (const std::string& range : cluster.pod_cidrs)
    if (const auto cidr = api::ParseCidr(range); !cidr || !cidr->address.is_v4)
      return Unexpected(BadRequest("--cluster-cidr: \"" + range + "\" is not a range of IPv4 addresses"));
  return cluster;
}

}  // namespace

void AddJoinedNetworkFlags(CLI::App& command, JoinedNetworkFlags& flags) {
  const std::map<std::string, bool> kModes = {{"on", true}, {"off", false}};
  command
      .add_option("--network", flags.on,
                  "on: each pod has a network and an address of its own, and Services and network policies "
                  "work; takes root. off: pods share this machine's")
      ->transform(CLI::CheckedTransformer(kModes))
      ->default_str("off");
  command.add_option("--cluster-cidr", flags.cluster_cidr, "Where pods' addresses come from, of all nodes");
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
          "Whether packets to pods of other nodes go through a VXLAN tunnel. auto: to nodes that are on "
          "no link of this one")
      ->transform(CLI::CheckedTransformer(kTunnels))
      ->default_str("auto");
}

Result<std::unique_ptr<JoinedNetwork>> JoinedNetwork::Open(const JoinedNetworkFlags& flags,
                                                           const std::string& node,
                                                           const std::string& address,
                                                           const std::string& data_dir) {
  FLYBALL_TRY(CheckAddress(address));
  FLYBALL_ASSIGN(const network::ClusterNetwork cluster, ClusterOf(flags));
  if (const auto why = network::WhyNoPodNetwork())
    return Unexpected(BadRequest("--network=on: pods cannot have networks of their own here: " + *why));
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  FLYBALL_ASSIGN(const std::string name, network::RegisterNetwork(data_dir));
  FLYBALL_ASSIGN(const auto ns, network::NetworkNamespace::Current());
  const bool tunnels = flags.tunnels != network::TunnelUse::kNever;
  network::PodNetworkOptions options{{.node = node, .name = name, .ns = ns, .addresses = {address}},
                                     cluster,
                                     static_cast<std::uint32_t>(flags.mtu)};
  if (flags.mtu == 0 && tunnels) options.mtu_less = network::kTunnelOverhead;
  std::unique_ptr<JoinedNetwork> made(new JoinedNetwork());
  FLYBALL_ASSIGN(made->pods_, network::PodNetwork::Open(std::move(options)));
  made->place_ = {
      .node = node, .ns = ns, .tunnels = flags.tunnels, .tunnel_link = name + "x", .address = address};
  made->place_.tunnel_mtu = made->pods_->mtu();
  return made;
}

Status JoinedNetwork::Follow(const Client& client) {
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
