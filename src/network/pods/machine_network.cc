#include "network/pods/machine_network.h"

#include <algorithm>

#include "network/pods/node_settings.h"

namespace flyball::network {
namespace {

constexpr char kNodeNamespaces[] = "/run/netns/";
constexpr char kNodeLink[] = "eth0";
constexpr std::uint32_t kDnsNumber = 10;  // of cluster IPs
// Addresses of the node range: the machine's is the first.
constexpr std::uint32_t kMachineNumber = 1, kFirstNodeNumber = 2;

std::string AddressOn(int link, const std::vector<LinkAddress>& addresses) {
  for (const LinkAddress& of : addresses)
    if (of.global && (link == 0 || of.link == link) && of.address.address.is_v4)
      return of.address.address.ToString();
  return {};
}

Status Exists(Status done) {
  if (!done && done.error().Is(Reason::kAlreadyExists)) return {};
  return done;
}

// The node's end of its link, on a thread in its namespace.
Status SetUpNode(const api::Cidr& address, const api::IpAddress& machine) {
  SetSysctl("ipv4/conf/all/accept_redirects", "0");
  FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
  FLYBALL_TRY(netlink->AddAddress(kNodeLink, address));
  FLYBALL_TRY(netlink->SetUp(kNodeLink));
  return netlink->ReplaceRoute({.destination = *api::ParseCidr("0.0.0.0/0"), .gateway = machine});
}

}  // namespace

std::string MachineAddress() {
  const auto netlink = Netlink::Open();
  if (!netlink) return {};
  const auto links = (*netlink)->ListLinks();
  const auto addresses = (*netlink)->ListAddresses();
  const auto routes = (*netlink)->ListRoutes();
  if (!links || !addresses || !routes) return {};
  for (const Route& route : *routes) {
    if (route.destination.prefix > 0 || !route.destination.address.is_v4) continue;
    if (route.source) return route.source->ToString();
    if (std::string found = AddressOn(route.link, *addresses); !found.empty()) return found;
  }
  for (const Link& link : *links) {
    if (!link.up || link.loopback || link.name.starts_with("fb")) continue;
    if (std::string found = AddressOn(link.index, *addresses); !found.empty()) return found;
  }
  return {};
}

Result<std::unique_ptr<MachineNetwork>> MachineNetwork::Start(const MachineNetworkOptions& options) {
  auto network = std::unique_ptr<MachineNetwork>(new MachineNetwork());
  const Status opened = network->Open(options);
  if (opened) return network;
  // Nobody else would: the caller goes on without a network, or ends.
  if (!network->ranges_.name.empty()) RemoveNetworkOf(network->ranges_.name);
  return Unexpected(opened.error());
}

Status MachineNetwork::Open(const MachineNetworkOptions& options) {
  FLYBALL_ASSIGN(ranges_, ReserveRanges(options.data_dir, options.pod_cidr, options.service_cidr));
  FLYBALL_ASSIGN(machine_, NetworkNamespace::Current());
  FLYBALL_ASSIGN(netlink_, Netlink::Open());
  const auto node_range = api::ParseCidr(ranges_.node_cidr);
  if (!node_range) return Unexpected(InternalError("network.json: no range of nodes"));
  cluster_.pod_cidrs = {ranges_.pod_cidr};
  cluster_.service_cidrs = {ranges_.service_cidr};
  cluster_.api_address = AddressAt(*node_range, kMachineNumber).ToString();
  cluster_.dns_domain = options.dns_domain;
  cluster_.dns_address = options.dns_address;
  if (const auto services = api::ParseCidr(ranges_.service_cidr); services && options.dns)
    cluster_.dns_address = AddressAt(*services, kDnsNumber).ToString();
  FLYBALL_TRY(MakeBridge());
  if (options.nodes.size() > 1) FLYBALL_TRY(FilterMachine());
  for (std::size_t i = 0; i < options.nodes.size(); ++i) {
    NodeNetwork node{.node = options.nodes[i], .name = ranges_.name, .ns = machine_, .addresses = {}};
    if (options.nodes.size() > 1) {
      FLYBALL_ASSIGN(node, MakeNode(options.nodes[i], i));
    } else {
      const std::string found = options.node_ip.empty() ? MachineAddress() : options.node_ip;
      node.addresses = {found.empty() ? cluster_.api_address : found};
    }
    FLYBALL_ASSIGN(auto pods, PodNetwork::Open({node, cluster_, options.mtu}));
    nodes_.push_back(std::move(pods));
  }
  return {};
}

// Without nodes of their own namespaces it has no ports, and only holds addresses.
Status MachineNetwork::MakeBridge() {
  FLYBALL_TRY(Exists(netlink_->AddBridge(ranges_.name, 0)));
  const api::Cidr address{*api::ParseIp(cluster_.api_address), api::ParseCidr(ranges_.node_cidr)->prefix};
  FLYBALL_TRY(netlink_->AddAddress(ranges_.name, address));
  return netlink_->SetUp(ranges_.name);
}

Result<NodeNetwork> MachineNetwork::MakeNode(const std::string& name, std::size_t index) {
  const std::string path = kNodeNamespaces + ranges_.name + "_" + name;
  const std::string link = ranges_.name + "n" + std::to_string(index + 1);
  const api::Cidr range = *api::ParseCidr(ranges_.node_cidr);
  const api::Cidr address{AddressAt(range, kFirstNodeNumber + static_cast<std::uint32_t>(index)),
                          range.prefix};
  auto ns = NetworkNamespace::Open(path);
  if (!ns) ns = NetworkNamespace::Create(path);
  if (!ns) return Unexpected(ns.error());
  if (!netlink_->FindLink(link)) {
    FLYBALL_TRY(netlink_->AddVeth(link, kNodeLink, **ns, 0));
    FLYBALL_TRY(netlink_->AddPort(link, ranges_.name));
    FLYBALL_TRY(netlink_->SetUp(link));
  }
  FLYBALL_TRY((*ns)->Run([&] { return SetUpNode(address, AddressAt(range, kMachineNumber)); }));
  return NodeNetwork{.node = name,
                     .name = ranges_.name,
                     .ns = *ns,
                     .machine = false,
                     .addresses = {address.address.ToString()}};
}

// What leaves the machine has its address, and nobody else uses it as a router or reaches the API server.
Status MachineNetwork::FilterMachine() {
  FLYBALL_ASSIGN(const auto nft, Nftables::Open());
  const bool closed = EnableForwarding(*nft);
  PodFilters filters{.node = {.name = ranges_.name}, .cluster = cluster_, .closed = closed};
  filters.cluster.pod_cidrs.push_back(ranges_.node_cidr);
  filters.pod_cidrs = filters.cluster.pod_cidrs;
  return nft->Run(TableCommands(filters));
}

void MachineNetwork::RemoveAll() {
  for (const auto& node : nodes_) node->RemoveAll();
  RemoveNetworkOf(ranges_.name);
}

}  // namespace flyball::network
