#include "network/pods/machine_network.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "network/pods/node_settings.h"

namespace flyball::network {
namespace {

constexpr char kNodeNamespaces[] = "/run/netns/";
constexpr char kNodeLink[] = "eth0";
constexpr std::uint32_t kDnsNumber = 10;  // of cluster IPs
// Addresses of the node range: the machine's is the first.
constexpr std::uint32_t kMachineNumber = 1, kFirstNodeNumber = 2;

std::string AddressOn(int link, const std::vector<LinkAddress>& addresses, bool v4) {
  for (const LinkAddress& of : addresses)
    if (of.global && (link == 0 || of.link == link) && of.address.address.is_v4 == v4)
      return of.address.address.ToString();
  return {};
}

Status Exists(Status done) {
  if (!done && done.error().Is(Reason::kAlreadyExists)) return {};
  return done;
}

api::Cidr NumberedIn(const api::Cidr& range, std::uint32_t number) {
  return {AddressAt(range, number), range.prefix};
}

// The node's end of its link, on a thread in its namespace. It has the address of that number in each range,
// and reaches others by way of the machine's.
Status SetUpNode(const std::vector<api::Cidr>& ranges, std::uint32_t number) {
  SetSysctl("ipv4/conf/all/accept_redirects", "0");
  FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
  for (const api::Cidr& range : ranges)
    FLYBALL_TRY(netlink->AddAddress(kNodeLink, NumberedIn(range, number)));
  FLYBALL_TRY(netlink->SetUp(kNodeLink));
  for (const api::Cidr& range : ranges) {
    const auto all = api::ParseCidr(range.address.is_v4 ? "0.0.0.0/0" : "::/0");
    FLYBALL_TRY(netlink->ReplaceRoute({.destination = *all, .gateway = AddressAt(range, kMachineNumber)}));
  }
  return {};
}

std::vector<api::Cidr> NodeRanges(const ClusterRanges& ranges) {
  std::vector<api::Cidr> found;
  for (const std::string& text : {ranges.node_cidr, ranges.node_cidr_v6})
    if (const auto range = api::ParseCidr(text)) found.push_back(*range);
  return found;
}

}  // namespace

std::string MachineAddress(bool v4) {
  const auto netlink = Netlink::Open();
  if (!netlink) return {};
  const auto links = (*netlink)->ListLinks();
  const auto addresses = (*netlink)->ListAddresses();
  const auto routes = (*netlink)->ListRoutes();
  if (!links || !addresses || !routes) return {};
  for (const Route& route : *routes) {
    if (route.destination.prefix > 0 || route.destination.address.is_v4 != v4) continue;
    if (route.source) return route.source->ToString();
    if (std::string found = AddressOn(route.link, *addresses, v4); !found.empty()) return found;
  }
  for (const Link& link : *links) {
    if (!link.up || link.loopback || link.name.starts_with("fb")) continue;
    if (std::string found = AddressOn(link.index, *addresses, v4); !found.empty()) return found;
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
  if (ranges_.has_v6() && !HasIpv6())
    return Unexpected(BadRequest("--cluster-cidr has a range of IPv6, which the kernel has not"));
  cluster_.pod_cidrs = ranges_.PodCidrs();
  cluster_.service_cidrs = ranges_.ServiceCidrs();
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
      FLYBALL_TRY(ChooseAddresses(options.node_ip, node.addresses));
    }
    FLYBALL_ASSIGN(auto pods, PodNetwork::Open({node, cluster_, options.mtu}));
    nodes_.push_back(std::move(pods));
  }
  return {};
}

// Without nodes of their own namespaces it has no ports, and only holds addresses.
Status MachineNetwork::MakeBridge() {
  FLYBALL_TRY(Exists(netlink_->AddBridge(ranges_.name, 0)));
  for (const api::Cidr& range : NodeRanges(ranges_))
    FLYBALL_TRY(netlink_->AddAddress(ranges_.name, NumberedIn(range, kMachineNumber)));
  return netlink_->SetUp(ranges_.name);
}

// One of each family that the cluster has. A machine that is on no network has those of the bridge.
Status MachineNetwork::ChooseAddresses(const std::string& node_ip,
                                       std::vector<std::string>& addresses) const {
  addresses = SplitWords(node_ip, ",");
  for (const api::Cidr& range : NodeRanges(ranges_)) {
    const bool v4 = range.address.is_v4;
    const bool given = std::any_of(addresses.begin(), addresses.end(), [&](const std::string& text) {
      const auto address = api::ParseIp(text);
      return address && address->is_v4 == v4;
    });
    if (given) continue;
    const std::string found = MachineAddress(v4);
    addresses.push_back(found.empty() ? AddressAt(range, kMachineNumber).ToString() : found);
  }
  const auto first = api::ParseIp(addresses.front());
  if (!first || !first->is_v4 || addresses.size() > NodeRanges(ranges_).size())
    return Unexpected(
        BadRequest("--node-ip: want an address of IPv4, and after a comma one of IPv6 if the "
                   "cluster has that, got \"" +
                   node_ip + "\""));
  return {};
}

Result<NodeNetwork> MachineNetwork::MakeNode(const std::string& name, std::size_t index) {
  const std::string path = kNodeNamespaces + ranges_.name + "_" + name;
  const std::string link = ranges_.name + "n" + std::to_string(index + 1);
  const std::vector<api::Cidr> ranges = NodeRanges(ranges_);
  const std::uint32_t number = kFirstNodeNumber + static_cast<std::uint32_t>(index);
  auto ns = NetworkNamespace::Open(path);
  if (!ns) ns = NetworkNamespace::Create(path);
  if (!ns) return Unexpected(ns.error());
  if (!netlink_->FindLink(link)) {
    FLYBALL_TRY(netlink_->AddVeth(link, kNodeLink, **ns, 0));
    FLYBALL_TRY(netlink_->AddPort(link, ranges_.name));
    FLYBALL_TRY(netlink_->SetUp(link));
  }
  FLYBALL_TRY((*ns)->Run([&] { return SetUpNode(ranges, number); }));
  NodeNetwork node{.node = name, .name = ranges_.name, .ns = *ns, .machine = false, .addresses = {}};
  for (const api::Cidr& range : ranges) node.addresses.push_back(AddressAt(range, number).ToString());
  return node;
}

// What leaves the machine has its address, and nobody else uses it as a router or reaches the API server.
Status MachineNetwork::FilterMachine() {
  FLYBALL_ASSIGN(const auto nft, Nftables::Open());
  PodFilters filters{.node = {.name = ranges_.name}, .cluster = cluster_};
  filters.closed = EnableForwarding(*nft, Family::kV4);
  if (ranges_.has_v6()) filters.closed_v6 = EnableForwarding(*nft, Family::kV6);
  filters.cluster.pod_cidrs.push_back(ranges_.node_cidr);
  if (ranges_.has_v6()) filters.cluster.pod_cidrs.push_back(ranges_.node_cidr_v6);
  filters.pod_cidrs = filters.cluster.pod_cidrs;
  return nft->Run(TableCommands(filters));
}

void MachineNetwork::RemoveAll() {
  for (const auto& node : nodes_) node->RemoveAll();
  RemoveNetworkOf(ranges_.name);
}

}  // namespace flyball::network
