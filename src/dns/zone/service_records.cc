#include "dns/zone/service_records.h"

#include <algorithm>
#include <set>

#include "api/values/ip_address.h"
#include "base/values/ascii.h"

namespace flyball::dns {
namespace {

constexpr std::size_t kV4Bytes = 4;

void AddAddress(AddressData& to, const std::string& bytes) {
  auto& list = bytes.size() == kV4Bytes ? to.a : to.aaaa;
  if (!bytes.empty()) list.push_back(bytes);
}

// Slices may name one endpoint twice while it moves between them.
void DropDuplicates(AddressData& addresses) {
  for (auto* list : {&addresses.a, &addresses.aaaa}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

bool Published(const Service& service, const Endpoint& endpoint) {
  return service.spec.publish_not_ready_addresses || endpoint.conditions.ready.value_or(true);
}

// "10-1-2-3", "2001-db8--1": unique within the Service, and says which endpoint it is.
std::string DashedAddress(std::string address) {
  for (char& c : address)
    if (c == '.' || c == ':') c = '-';
  // A label with a dash at its end is no host name.
  if (!address.empty() && address.front() == '-') address.insert(0, "0");
  if (!address.empty() && address.back() == '-') address += '0';
  return LowerCase(address);
}

std::string PortKey(const std::string& name, const std::string& protocol) {
  return name.empty() ? std::string() : "_" + LowerCase(name) + "._" + LowerCase(protocol);
}

void AddPort(ServiceRecords& records, const std::string& key, ServiceRecords::Port port) {
  const auto add = [&](const std::string& to) {
    auto& list = records.ports[to];
    if (std::find(list.begin(), list.end(), port) == list.end()) list.push_back(port);
  };
  if (!key.empty()) add(key);
  add("");
}

class RecordsBuilder {
 public:
  RecordsBuilder(const Service& service, const EndpointSlices& slices) : service_(service), slices_(slices) {
    records_->ns = service.metadata.namespace_;
    records_->name = service.metadata.name;
  }

  std::shared_ptr<const ServiceRecords> Build() {
    if (service_.spec.type == "ExternalName") {
      records_->external = Name::FromText(service_.spec.external_name);
      return records_;
    }
    headless_ = service_.spec.cluster_ip == "None";
    if (!headless_) AddClusterIps();
    for (const auto& slice : slices_) AddSlice(*slice);
    for (const auto& port : service_.spec.ports)
      if (!headless_ && !records_->addresses.empty())
        AddPort(*records_, PortKey(port.name, port.protocol),
                {static_cast<std::uint16_t>(port.port), ServiceRecords::kWholeService});
    DropDuplicates(records_->addresses);
    for (auto& host : records_->hosts) DropDuplicates(host.addresses);
    AddReverse();
    return records_;
  }

 private:
  void AddClusterIps() {
    std::vector<std::string> all = service_.spec.cluster_ips;
    if (all.empty() && !service_.spec.cluster_ip.empty()) all.push_back(service_.spec.cluster_ip);
    for (const std::string& ip : all) {
      const std::string bytes = AddressBytes(ip);
      AddAddress(records_->addresses, bytes);
      if (!bytes.empty()) records_->reverse.emplace_back(bytes, ServiceRecords::kWholeService);
    }
  }

  void AddSlice(const EndpointSlice& slice) {
    if (slice.address_type == "FQDN") return;  // no addresses
    for (const Endpoint& endpoint : slice.endpoints)
      if (Published(service_, endpoint)) AddEndpoint(slice, endpoint);
  }

  void AddEndpoint(const EndpointSlice& slice, const Endpoint& endpoint) {
    const std::string hostname = LowerCase(endpoint.hostname.value_or(""));
    for (const std::string& address : endpoint.addresses) {
      const std::string bytes = AddressBytes(address);
      if (bytes.empty()) continue;
      const std::size_t host = HostOf(hostname.empty() ? DashedAddress(address) : hostname);
      AddAddress(records_->hosts[host].addresses, bytes);
      if (!headless_) continue;
      AddAddress(records_->addresses, bytes);
      for (const EndpointSlicePort& port : slice.ports)
        if (port.port)
          AddPortOfHost(PortKey(port.name.value_or(""), port.protocol.value_or("TCP")),
                        {static_cast<std::uint16_t>(*port.port), host});
    }
  }

  // One host has the same port once, however many addresses it has.
  void AddPortOfHost(const std::string& key, ServiceRecords::Port port) {
    if (!seen_.emplace(key, port.number, port.host).second) return;
    if (!key.empty()) records_->ports[key].push_back(port);
    records_->ports[""].push_back(port);
  }

  std::size_t HostOf(const std::string& label) {
    const auto [found, added] = records_->host_by_label.emplace(label, records_->hosts.size());
    if (added) records_->hosts.push_back({.label = label});
    return found->second;
  }

  // The specification asks for this of headless Services only: the endpoint of another Service is not reached
  // by the Service's name.
  void AddReverse() {
    if (!headless_) return;
    for (std::size_t i = 0; i < records_->hosts.size(); ++i)
      for (const auto* list : {&records_->hosts[i].addresses.a, &records_->hosts[i].addresses.aaaa})
        for (const std::string& bytes : *list) records_->reverse.emplace_back(bytes, i);
  }

  const Service& service_;
  const EndpointSlices& slices_;
  std::shared_ptr<ServiceRecords> records_ = std::make_shared<ServiceRecords>();
  std::set<std::tuple<std::string, std::uint16_t, std::size_t>> seen_;
  bool headless_ = false;
};

}  // namespace

std::string AddressBytes(const std::string& text) {
  const auto ip = api::ParseIp(text);
  if (!ip) return {};
  const auto* bytes = reinterpret_cast<const char*>(ip->bytes.data());
  return ip->is_v4 ? std::string(bytes + 12, kV4Bytes) : std::string(bytes, ip->bytes.size());
}

std::shared_ptr<const ServiceRecords> RecordsOf(const Service& service, const EndpointSlices& slices) {
  return RecordsBuilder(service, slices).Build();
}

}  // namespace flyball::dns
