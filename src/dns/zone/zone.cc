#include "dns/zone/zone.h"

#include <algorithm>

#include "api/values/ip_address.h"
#include "base/values/ascii.h"

namespace flyball::dns {
namespace {

constexpr std::string_view kSchemaVersion = "1.1.0";
// CNAMEs from Service to Service that are followed before the answer is left as it is.
constexpr int kMaxAliases = 8;
// More addresses than a packet over TCP can hold (16 bytes each) are not worth collecting.
constexpr std::size_t kMaxAnswers = kMaxPacketBytes / 16;
constexpr std::size_t kMaxAdditionals = 32;
// SOA: what CoreDNS says; secondaries do not exist, so only the minimum matters, the TTL of "no such name".
constexpr std::uint32_t kRefresh = 7200, kRetry = 1800, kExpire = 86400;
constexpr std::uint16_t kSrvPriority = 0, kSrvWeight = 100;
// Whose address is the name server's.
constexpr std::string_view kDnsService = "kube-dns.kube-system";

std::string ServiceKey(std::string_view ns, std::string_view name) {
  return std::string(name) + "." + std::string(ns);
}

std::string PodKey(std::string_view ns, std::string_view bytes) {
  return std::string(ns) + "/" + std::string(bytes);
}

// "10-1-2-3" and "2001-db8--1" as bytes; "" if it is no address.
std::string AddressOfDashes(std::string label) {
  const bool v4 = std::count(label.begin(), label.end(), '-') == 3 &&
                  label.find_first_not_of("0123456789-") == std::string::npos;
  std::replace(label.begin(), label.end(), '-', v4 ? '.' : ':');
  return AddressBytes(label);
}

}  // namespace

// What a name is. Null `exists` is NXDOMAIN; a name that exists and has nothing of the type is NODATA.
struct Zone::Found {
  bool exists = false;
  bool apex = false, schema = false, name_server = false;
  const ServiceRecords* service = nullptr;
  const AddressData* addresses = nullptr;
  const std::vector<ServiceRecords::Port>* ports = nullptr;
  std::string pod_address{};
};

Zone::Zone(ZoneOptions options, Random& random)
    : options_(std::move(options)), random_(random), domain_labels_(options_.domain.Labels().size()) {}

void Zone::SetService(const std::string& ns, const std::string& name,
                      std::shared_ptr<const ServiceRecords> records) {
  const std::string key = ServiceKey(ns, name);
  ++serial_;
  if (const auto old = services_.find(key); old != services_.end()) {
    for (const auto& [bytes, host] : old->second->reverse) {
      const auto at = reverse_.find(bytes);
      if (at == reverse_.end()) continue;
      std::erase_if(at->second, [&](const auto& owner) { return owner.first == key; });
      if (at->second.empty()) reverse_.erase(at);
    }
    services_.erase(old);
  }
  if (!records) return;
  for (const auto& [bytes, host] : records->reverse) reverse_[bytes].emplace_back(key, host);
  services_.emplace(key, std::move(records));
}

void Zone::SetNamespace(const std::string& ns, bool exists) {
  if (exists)
    namespaces_[ns] = true;
  else
    namespaces_.erase(ns);
}

void Zone::AddPodAddress(const std::string& ns, const std::string& address_bytes) {
  ++pods_[PodKey(ns, address_bytes)];
}

void Zone::RemovePodAddress(const std::string& ns, const std::string& address_bytes) {
  const auto at = pods_.find(PodKey(ns, address_bytes));
  if (at != pods_.end() && --at->second <= 0) pods_.erase(at);
}

Zone::Outcome Zone::Answer(Message& reply, Name& alias) const {
  const Name& name = reply.question->name;
  if (!name.IsWithin(options_.domain)) {
    const std::string address = ReverseAddress(name);
    return address.empty() ? Outcome::kNotOurs : AnswerReverse(reply, address);
  }
  reply.authoritative = true;
  if (!synced_) {
    reply.authoritative = false;
    reply.rcode = kServFail;
    return Outcome::kAnswered;
  }
  Name at = name;
  for (int i = 0; i < kMaxAliases; ++i) {
    if (!AnswerWithin(reply, at, alias)) return Outcome::kAnswered;
    if (!alias.IsWithin(options_.domain)) return Outcome::kAlias;
    at = alias;
  }
  return Outcome::kAnswered;
}

// True if the name is an alias that is to be followed.
bool Zone::AnswerWithin(Message& reply, const Name& name, Name& alias) const {
  Labels labels;
  for (const std::string_view label : name.Labels()) labels.push_back(LowerCase(label));
  labels.resize(labels.size() - domain_labels_);
  const Found found = Find(labels);
  if (!found.exists) reply.rcode = kNxDomain;
  if (found.service && found.service->external) {
    reply.answers.push_back(MakeRecord(name, kTypeCname, found.service->external->wire()));
    alias = *found.service->external;
    return reply.question->type != kTypeCname;
  }
  const std::size_t before = reply.answers.size();
  if (found.exists) AddFound(reply, name, found);
  if (reply.answers.size() == before) AddSoa(reply.authorities);
  return false;
}

Zone::Found Zone::Find(const Labels& labels) const {
  if (labels.size() <= 1) return FindAtApex(labels);
  const std::string& tree = labels.back();
  if (tree == "svc") return FindInService(labels);
  if (tree == "pod") return FindPod(labels);
  if (labels.size() == 2 && labels[0] == "ns" && tree == "dns") return {.exists = true, .name_server = true};
  return {};
}

Zone::Found Zone::FindAtApex(const Labels& labels) const {
  if (labels.empty()) return {.exists = true, .apex = true};
  if (labels[0] == "dns-version") return {.exists = true, .schema = true};
  const bool tree = labels[0] == "svc" || labels[0] == "dns" ||
                    (labels[0] == "pod" && options_.pods != PodNames::kDisabled);
  return {.exists = tree};
}

// [[port.]proto.|host.]service.namespace.svc
Zone::Found Zone::FindInService(const Labels& labels) const {
  const std::size_t n = labels.size();
  const std::string& ns = labels[n - 2];
  if (n == 2) return {.exists = namespaces_.contains(ns)};
  const auto found = services_.find(ServiceKey(ns, labels[n - 3]));
  if (found == services_.end() || !found->second->exists()) return {};
  const ServiceRecords& service = *found->second;
  const auto all = service.ports.find("");
  if (n == 3)
    return {.exists = true,
            .service = &service,
            .addresses = &service.addresses,
            .ports = all != service.ports.end() ? &all->second : nullptr};
  if (service.external) return {};
  if (n == 4) {
    if (const auto host = service.host_by_label.find(labels[0]); host != service.host_by_label.end())
      return {.exists = true, .service = &service, .addresses = &service.hosts[host->second].addresses};
    // Something may be below "_tcp" (RFC 8020).
    for (const auto& [key, ports] : service.ports)
      if (!key.empty() && key.ends_with("." + labels[0])) return {.exists = true};
    return {};
  }
  if (n > 5) return {};
  const auto ports = service.ports.find(labels[0] + "." + labels[1]);
  if (ports == service.ports.end() || ports->first.empty()) return {};
  return {.exists = true, .service = &service, .ports = &ports->second};
}

Zone::Found Zone::FindPod(const Labels& labels) const {
  if (options_.pods == PodNames::kDisabled || labels.size() > 3) return {};
  const std::string& ns = labels[labels.size() - 2];
  const bool namespace_exists = namespaces_.contains(ns);
  if (labels.size() == 2) return {.exists = namespace_exists};
  std::string address = AddressOfDashes(labels[0]);
  if (!namespace_exists || address.empty()) return {};
  if (options_.pods == PodNames::kVerified && !pods_.contains(PodKey(ns, address))) return {};
  return {.exists = true, .pod_address = std::move(address)};
}

void Zone::AddFound(Message& reply, const Name& name, const Found& found) const {
  const std::uint16_t type = reply.question->type;
  if (found.addresses) AddAddresses(reply.answers, name, *found.addresses, type);
  if (found.ports && type == kTypeSrv) AddSrv(reply, name, *found.service, *found.ports);
  if (found.schema && type == kTypeTxt)
    reply.answers.push_back(MakeRecord(name, kTypeTxt, TxtData(kSchemaVersion)));
  if (found.apex && type == kTypeSoa) AddSoa(reply.answers);
  if (found.apex && type == kTypeNs)
    reply.answers.push_back(MakeRecord(name, kTypeNs, options_.domain.Child("dns")->Child("ns")->wire()));
  if (found.name_server)
    if (const auto dns = services_.find(std::string(kDnsService)); dns != services_.end())
      AddAddresses(reply.answers, name, dns->second->addresses, type);
  if (type == (found.pod_address.size() == 4 ? kTypeA : kTypeAaaa) && !found.pod_address.empty())
    reply.answers.push_back(MakeRecord(name, type, found.pod_address));
}

// In a random rotation: clients take the first one.
void Zone::AddAddresses(std::vector<Record>& to, const Name& owner, const AddressData& addresses,
                        std::uint16_t type) const {
  if (type != kTypeA && type != kTypeAaaa) return;
  const auto& list = type == kTypeA ? addresses.a : addresses.aaaa;
  if (list.empty()) return;
  const std::size_t count = std::min(list.size(), kMaxAnswers);
  const std::size_t first = list.size() == 1 ? 0 : random_.Below(list.size());
  to.reserve(to.size() + count);
  for (std::size_t i = 0; i < count; ++i)
    to.push_back(MakeRecord(owner, type, list[(first + i) % list.size()]));
}

void Zone::AddSrv(Message& reply, const Name& owner, const ServiceRecords& service,
                  const std::vector<ServiceRecords::Port>& ports) const {
  const std::size_t count = std::min(ports.size(), kMaxAnswers);
  // Weights are shares: the same for each, and at least 1.
  const auto weight =
      std::max<std::uint16_t>(1, static_cast<std::uint16_t>(kSrvWeight / std::max<std::size_t>(1, count)));
  std::size_t last = service.hosts.size();  // no host's
  for (std::size_t i = 0; i < count; ++i) {
    const Name target = NameOf(service, ports[i].host);
    reply.answers.push_back(
        MakeRecord(owner, kTypeSrv, SrvData(kSrvPriority, weight, ports[i].number, target)));
    if (reply.additionals.size() >= kMaxAdditionals || std::exchange(last, ports[i].host) == ports[i].host)
      continue;
    const AddressData& addresses = ports[i].host == ServiceRecords::kWholeService
                                       ? service.addresses
                                       : service.hosts[ports[i].host].addresses;
    AddAddresses(reply.additionals, target, addresses, kTypeA);
    AddAddresses(reply.additionals, target, addresses, kTypeAaaa);
  }
}

void Zone::AddSoa(std::vector<Record>& to) const {
  const Soa soa{.primary = *options_.domain.Child("dns")->Child("ns"),
                .mailbox = *options_.domain.Child("hostmaster"),
                .serial = serial_,
                .refresh = kRefresh,
                .retry = kRetry,
                .expire = kExpire,
                .minimum = options_.ttl};
  to.push_back(MakeRecord(options_.domain, kTypeSoa, SoaData(soa)));
}

Zone::Outcome Zone::AnswerReverse(Message& reply, const std::string& address) const {
  const auto found = reverse_.find(address);
  if (found == reverse_.end()) return Outcome::kNotOurs;
  reply.authoritative = true;
  if (reply.question->type == kTypePtr)
    for (const auto& [key, host] : found->second)
      if (reply.answers.size() < kMaxAnswers)
        reply.answers.push_back(
            MakeRecord(reply.question->name, kTypePtr, NameOf(*services_.at(key), host).wire()));
  if (reply.answers.empty()) AddSoa(reply.authorities);
  return Outcome::kAnswered;
}

Record Zone::MakeRecord(const Name& owner, std::uint16_t type, std::string data) const {
  return {.owner = owner, .type = type, .ttl = options_.ttl, .data = std::move(data)};
}

// Names of Services, namespaces and hosts are labels, which the API server checks; what is too long for DNS
// is the domain itself.
Name Zone::NameOf(const ServiceRecords& service, std::size_t host) const {
  std::optional<Name> name = options_.domain.Child("svc");
  if (name) name = name->Child(service.ns);
  if (name) name = name->Child(service.name);
  if (name && host != ServiceRecords::kWholeService) name = name->Child(service.hosts[host].label);
  return name.value_or(options_.domain);
}

}  // namespace flyball::dns
