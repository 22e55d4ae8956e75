#include "network/pods/pod_network.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/observe/log.h"
#include "network/pods/node_settings.h"

namespace flyball::network {
namespace {

namespace fs = std::filesystem;

constexpr char kNamespaces[] = "/run/netns/";
constexpr char kPodLink[] = "eth0";
constexpr std::uint32_t kUsualMtu = 1500;

api::Cidr HostOf(const api::IpAddress& address) {
  return {address, address.is_v4 ? 32 : 128};
}

api::Cidr Everything(bool v4) {
  return *api::ParseCidr(v4 ? "0.0.0.0/0" : "::/0");
}

// By the address, so that nobody who remembers the hardware address of an earlier pod is wrong.
std::string HardwareAddress(const api::IpAddress& ip) {
  std::string mac = "\x0a\x58";
  for (std::size_t i = 12; i < 16; ++i) mac += static_cast<char>(ip.bytes[i]);
  return mac;
}

std::string Hex(std::uint32_t number) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), kDigits[number & 15]);
  while ((number >>= 4) > 0);
  return text;
}

// Of the link with the default route.
std::uint32_t MtuOfWorld(Netlink& netlink) {
  const auto routes = netlink.ListRoutes();
  const auto links = netlink.ListLinks();
  if (!routes || !links) return kUsualMtu;
  for (const Route& route : *routes)
    for (const Link& link : *links)
      if (route.destination.prefix == 0 && link.index == route.link && link.mtu > 0) return link.mtu;
  return kUsualMtu;
}

// Of IPv6 a node answers for an address only on the link that has it, which each pod's has.
constexpr char kGatewayV6[] = "fe80::1";
constexpr int kLinkLocalPrefix = 64;

// The pod's side, on a thread in its namespace.
Status SetUpInside(const std::vector<api::IpAddress>& ips, const std::vector<api::IpAddress>& gateways) {
  // Every other pod is behind the gateway, whatever it may say.
  SetSysctl("ipv4/conf/all/accept_redirects", "0");
  SetSysctl(std::string("ipv4/conf/") + kPodLink + "/accept_redirects", "0");
  for (const char* link : {"all", kPodLink}) {
    SetSysctl(std::string("ipv6/conf/") + link + "/accept_redirects", "0");
    SetSysctl(std::string("ipv6/conf/") + link + "/accept_ra", "0");
  }
  // The link's own address is nobody else's: there is only one other end.
  SetSysctl(std::string("ipv6/conf/") + kPodLink + "/accept_dad", "0");
  FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
  for (const api::IpAddress& ip : ips) FLYBALL_TRY(netlink->AddAddress(kPodLink, HostOf(ip)));
  FLYBALL_TRY(netlink->SetUp(kPodLink));
  FLYBALL_ASSIGN(const Link link, netlink->FindLink(kPodLink));
  for (std::size_t i = 0; i < ips.size(); ++i)
    FLYBALL_TRY(netlink->ReplaceRoute({.destination = Everything(ips[i].is_v4),
                                       .link = link.index,
                                       .gateway = gateways[i],
                                       .on_link = true}));
  return {};
}

// The addresses of an attached namespace, IPv4 first.
Result<std::vector<api::IpAddress>> AddressesInside(const NetworkNamespace& ns) {
  return ns.Run([]() -> Result<std::vector<api::IpAddress>> {
    FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
    FLYBALL_ASSIGN(const Link link, netlink->FindLink(kPodLink));
    FLYBALL_ASSIGN(const auto addresses, netlink->ListAddresses());
    std::vector<api::IpAddress> found;
    for (const LinkAddress& of : addresses)
      if (of.link == link.index && of.global) found.push_back(of.address.address);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.is_v4 && !b.is_v4; });
    return found;
  });
}

std::vector<std::string> Texts(const std::vector<api::IpAddress>& ips) {
  std::vector<std::string> texts;
  for (const api::IpAddress& ip : ips) texts.push_back(ip.ToString());
  return texts;
}

std::vector<std::string> NamespacesOf(const std::string& name) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(kNamespaces, error))
    if (entry.path().filename().string().starts_with(name + "_")) paths.push_back(entry.path().string());
  return paths;
}

std::vector<std::string> LinksOf(const std::string& name, Netlink& netlink) {
  std::vector<std::string> names;
  if (const auto links = netlink.ListLinks())
    for (const Link& link : *links)
      if (link.name.starts_with(name)) names.push_back(link.name);
  return names;
}

// "table inet fb1a2b3c_pods", as nft lists them.
std::vector<std::string> TablesOf(const std::string& name, Nftables& nft) {
  std::vector<std::string> tables;
  const auto listed = nft.Query("list tables");
  std::istringstream lines(listed ? *listed : "");
  for (std::string line; std::getline(lines, line);)
    if (line.find(" " + name + "_") != std::string::npos) tables.push_back(line);
  return tables;
}

}  // namespace

Result<std::unique_ptr<PodNetwork>> PodNetwork::Open(PodNetworkOptions options) {
  const NetworkNamespace::Ptr ns = options.node.ns;
  auto network = std::unique_ptr<PodNetwork>(new PodNetwork(std::move(options)));
  FLYBALL_TRY(ns->Run([&] { return network->Start(); }));
  return network;
}

Status PodNetwork::Start() {
  FLYBALL_ASSIGN(netlink_, Netlink::Open());
  mtu_ = options_.mtu > 0 ? options_.mtu : MtuOfWorld(*netlink_) - options_.mtu_less;
  FLYBALL_TRY(MakeGatewayLink());
  MutexLock lock(mu_);
  FLYBALL_ASSIGN(nft_, Nftables::Open());
  Recover();
  return {};
}

// A bridge without ports: a link that only has addresses, which every kernel knows.
Status PodNetwork::MakeGatewayLink() {
  const std::string& name = options_.node.name;
  const Status made = netlink_->AddBridge(name, mtu_);
  if (!made && !made.error().Is(Reason::kAlreadyExists)) return made;
  return netlink_->SetUp(name);
}

std::string PodNetwork::PathPrefix() const {
  return options_.node.name + "_" + options_.node.node + "_";
}

void PodNetwork::Recover() {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(kNamespaces, error))
    if (const std::string file = entry.path().filename().string(); file.starts_with(PathPrefix()))
      files.push_back(file);
  for (const std::string& file : files) RecoverPod(file.substr(PathPrefix().size()), kNamespaces + file);
}

void PodNetwork::RecoverPod(const std::string& uid, const std::string& path) {
  Attached pod{.path = path};
  const auto ns = NetworkNamespace::Open(path);
  auto ips = ns ? AddressesInside(**ns) : Result<std::vector<api::IpAddress>>(Unexpected(ns.error()));
  if (ips && !ips->empty()) {
    pod.ips = std::move(*ips);
    pod.link = LinkName(pod.ips);
    if (netlink_->FindLink(pod.link)) {
      pods_[uid] = std::move(pod);
      return;
    }
  }
  Drop(pod);
}

bool PodNetwork::has_cidrs() const {
  MutexLock lock(mu_);
  return !cidrs_.empty();
}

Status PodNetwork::UseCidrs(const std::vector<std::string>& cidrs) {
  MutexLock lock(mu_);
  if (cidrs == cidrs_) return {};
  FLYBALL_ASSIGN(const bool has_v6, options_.node.ns->Run([]() -> Result<bool> { return HasIpv6(); }));
  std::vector<AddressPool> pools;
  for (const std::string& text : cidrs) {
    const auto range = api::ParseCidr(text);
    if (!range) return Unexpected(BadRequest("\"" + text + "\" is not a range of addresses"));
    if (!range->address.is_v4 && !has_v6) continue;
    pools.emplace_back(*range);
    // With the whole range, so that nobody's addresses lead nowhere and not out of the machine.
    FLYBALL_TRY(netlink_->AddAddress(options_.node.name, {pools.back().gateway(), range->prefix}));
  }
  if (pools.empty() || !pools.front().gateway().is_v4)
    return Unexpected(BadRequest("the first range of the node has to be one of IPv4"));
  for (const auto& [uid, pod] : pods_)
    for (const api::IpAddress& ip : pod.ips)
      for (AddressPool& pool : pools) pool.Keep(ip);
  const Status filtered = options_.node.ns->Run([&, &nft = *nft_]() -> Status {
    SetSysctl("ipv4/conf/all/send_redirects", "0");
    PodFilters filters{options_.node, options_.cluster, cidrs};
    filters.closed = EnableForwarding(nft, Family::kV4);
    if (pools.size() > 1) filters.closed_v6 = EnableForwarding(nft, Family::kV6);
    return nft.Run(TableCommands(filters));
  });
  if (!filtered) return filtered;
  cidrs_ = cidrs;
  pools_ = std::move(pools);
  return {};
}

std::string PodNetwork::LinkName(const std::vector<api::IpAddress>& ips) const {
  std::uint32_t bits = 0;
  for (std::size_t i = 12; i < 16; ++i) bits = bits << 8 | ips.front().bytes[i];
  constexpr std::uint32_t kInName = 0xffffff;  // six digits fit; no node has more addresses
  return options_.node.name + "p" + Hex(bits & kInName);
}

void PodNetwork::SetOnAttached(OnAttached fn) {
  MutexLock lock(mu_);
  on_attached_ = std::move(fn);
}

Result<PodAttachment> PodNetwork::Attach(const Pod& pod) {
  OnAttached attached;
  std::optional<PodAttachment> made;
  {
    MutexLock lock(mu_);
    FLYBALL_ASSIGN(made, AttachQuietly(pod));
    attached = on_attached_;
  }
  if (attached) attached(pod, made->ips);
  return std::move(*made);
}

Result<PodAttachment> PodNetwork::AttachQuietly(const Pod& pod) {
  if (pools_.empty())
    return Unexpected(Error(Reason::kServiceUnavailable, "the node has no range of pod addresses yet"));
  const std::string& uid = pod.metadata.uid;
  Attached& attached = pods_[uid];
  Status made;
  if (attached.ips.empty()) made = Make(uid, attached);
  if (made) made = OpenHostPorts(pod, attached);
  attached.claimed = true;
  if (!made) {
    Drop(attached);
    pods_.erase(uid);
    return Unexpected(made.error());
  }
  return PodAttachment{attached.path, Texts(attached.ips)};
}

Status PodNetwork::Make(const std::string& uid, Attached& pod) {
  for (AddressPool& pool : pools_) {
    FLYBALL_ASSIGN(const api::IpAddress ip, pool.Take());
    pod.ips.push_back(ip);
  }
  pod.path = kNamespaces + PathPrefix() + uid;
  pod.link = LinkName(pod.ips);
  FLYBALL_ASSIGN(const auto ns, NetworkNamespace::Create(pod.path));
  return Connect(pod, *ns);
}

Status PodNetwork::Connect(const Attached& pod, const NetworkNamespace& ns) {
  FLYBALL_TRY(netlink_->DeleteLink(pod.link));  // of a pod that nobody knows any more
  FLYBALL_TRY(netlink_->AddVeth(pod.link, kPodLink, ns, mtu_, HardwareAddress(pod.ips.front())));
  FLYBALL_TRY(options_.node.ns->Run([&]() -> Status {
    // Host ports of 127.0.0.1 lead to pods; what pods send there is dropped (TableCommands).
    SetSysctl("ipv4/conf/" + pod.link + "/route_localnet", "1");
    SetSysctl("ipv6/conf/" + pod.link + "/accept_dad", "0");
    SetSysctl("ipv6/conf/" + pod.link + "/accept_ra", "0");
    return {};
  }));
  const api::IpAddress gateway_v6 = *api::ParseIp(kGatewayV6);
  if (pod.ips.size() > 1) FLYBALL_TRY(netlink_->AddAddress(pod.link, {gateway_v6, kLinkLocalPrefix}));
  FLYBALL_TRY(netlink_->SetUp(pod.link));
  std::vector<api::IpAddress> gateways;
  for (const AddressPool& pool : pools_)
    gateways.push_back(pool.gateway().is_v4 ? pool.gateway() : gateway_v6);
  FLYBALL_TRY(ns.Run([&] { return SetUpInside(pod.ips, gateways); }));
  FLYBALL_ASSIGN(const Link link, netlink_->FindLink(pod.link));
  for (std::size_t i = 0; i < pod.ips.size(); ++i)
    FLYBALL_TRY(netlink_->ReplaceRoute({.destination = HostOf(pod.ips[i]), .link = link.index}));
  return {};
}

Status PodNetwork::OpenHostPorts(const Pod& spec, Attached& pod) {
  const std::vector<HostPort> ports = HostPortsOf(spec);
  if (ports == pod.ports) return {};
  FLYBALL_TRY(nft_->Run(HostPortCommands(options_.node, "add", ports, Texts(pod.ips))));
  pod.ports = ports;
  return {};
}

void PodNetwork::Drop(Attached& pod) {
  if (!pod.ports.empty())
    if (const Status closed = nft_->Run(HostPortCommands(options_.node, "delete", pod.ports, Texts(pod.ips)));
        !closed)
      log::Warning("host ports of a pod not removed", {{"error", closed.error().message()}});
  if (!pod.link.empty())
    if (const Status deleted = netlink_->DeleteLink(pod.link); !deleted)
      log::Warning("link of a pod not removed", {{"error", deleted.error().message()}});
  if (!pod.path.empty())
    if (const Status removed = NetworkNamespace::Remove(pod.path); !removed)
      log::Warning("network namespace of a pod not removed", {{"error", removed.error().message()}});
  for (AddressPool& pool : pools_)
    for (const api::IpAddress& ip : pod.ips) pool.Release(ip);
}

void PodNetwork::Detach(const std::string& pod_uid) {
  MutexLock lock(mu_);
  const auto found = pods_.find(pod_uid);
  if (found == pods_.end()) return;
  Drop(found->second);
  pods_.erase(found);
}

void PodNetwork::KeepOnly(const std::set<std::string>& pod_uids) {
  MutexLock lock(mu_);
  for (auto it = pods_.begin(); it != pods_.end();) {
    if (it->second.claimed || pod_uids.contains(it->first)) {
      ++it;
      continue;
    }
    Drop(it->second);
    it = pods_.erase(it);
  }
}

void PodNetwork::RemoveAll() {
  MutexLock lock(mu_);
  for (auto& [uid, pod] : pods_) Drop(pod);
  pods_.clear();
  cidrs_.clear();
  pools_.clear();
  const Status removed = options_.node.ns->Run([&]() -> Status {
    RemoveNetworkOf(options_.node.name);
    return {};
  });
  if (!removed) log::Warning("network of the node not removed", {{"error", removed.error().message()}});
}

std::optional<std::string> WhyNoPodNetwork() {
  if (::geteuid() != 0) return "it needs root";
  // Read-only in most containers.
  if (::access("/proc/sys/net/ipv4/ip_forward", W_OK) != 0)
    return "the kernel's settings cannot be changed (/proc/sys/net)";
  const std::string path = std::string(kNamespaces) + "fbtry-" + std::to_string(::getpid());
  const auto made = NetworkNamespace::Create(path);
  if (!made) return made.error().message();
  const Status tried = (*made)->Run([]() -> Status {
    FLYBALL_ASSIGN(const auto nft, Nftables::Open());
    FLYBALL_TRY(
        nft->Run("table inet fb {\nchain c {\ntype nat hook postrouting priority 0; policy "
                 "accept;\nmasquerade\n}\n}"));
    FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
    return netlink->AddBridge("fb", 0);
  });
  (void)NetworkNamespace::Remove(path);
  return tried ? std::nullopt : std::optional(tried.error().message());
}

void RemoveNetworkOf(const std::string& name) {
  for (const std::string& path : NamespacesOf(name)) (void)NetworkNamespace::Remove(path);
  if (const auto netlink = Netlink::Open())
    for (const std::string& link : LinksOf(name, **netlink)) (void)(*netlink)->DeleteLink(link);
  const auto nft = Nftables::Open();
  if (!nft) return;
  std::vector<Family> closed;
  for (const Family family : {Family::kV4, Family::kV6})
    if ((*nft)->Query("list chain inet " + name + "_pods " + ClosedChain(family == Family::kV6)))
      closed.push_back(family);
  for (const std::string& table : TablesOf(name, **nft)) (void)(*nft)->Run("delete " + table);
  for (const Family family : closed) DisableForwarding(**nft, family);
}

}  // namespace flyball::network
