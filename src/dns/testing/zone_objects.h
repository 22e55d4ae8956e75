// For tests: Services and slices in a few words, and what a zone says as text.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/values/ip_address.h"
#include "dns/zone/zone.h"

namespace flyball::dns {

inline Service ClusterService(const std::string& ns, const std::string& name,
                              const std::vector<std::string>& ips) {
  Service service;
  service.metadata.namespace_ = ns;
  service.metadata.name = name;
  service.spec.type = "ClusterIP";
  service.spec.cluster_ip = ips.at(0);
  service.spec.cluster_ips = ips;
  service.spec.ports = {{.name = "https", .protocol = "TCP", .port = 443}};
  return service;
}

inline Endpoint ReadyEndpoint(const std::string& ip, const std::string& hostname = "", bool ready = true) {
  Endpoint endpoint{.addresses = {ip}};
  endpoint.conditions.ready = ready;
  if (!hostname.empty()) endpoint.hostname = hostname;
  return endpoint;
}

inline std::shared_ptr<const EndpointSlice> SliceOf(std::vector<Endpoint> endpoints, int port = 443,
                                                    const std::string& family = "IPv4") {
  auto slice = std::make_shared<EndpointSlice>();
  slice->address_type = family;
  slice->endpoints = std::move(endpoints);
  slice->ports = {{.name = "https", .protocol = "TCP", .port = port}};
  return slice;
}

inline std::string DataText(const Record& record) {
  const std::string& data = record.data;
  if (record.type == kTypeA) {
    std::string text;
    for (const char c : data)
      text += (text.empty() ? "" : ".") + std::to_string(static_cast<unsigned char>(c));
    return text;
  }
  if (record.type == kTypeAaaa) {
    api::IpAddress ip;
    std::copy(data.begin(), data.end(), ip.bytes.begin());
    return ip.ToString();
  }
  if (record.type == kTypeSrv) {
    const auto number = [&](std::size_t at) {
      return std::to_string(static_cast<unsigned char>(data[at]) << 8 |
                            static_cast<unsigned char>(data[at + 1]));
    };
    return number(0) + " " + number(2) + " " + number(4) + " " +
           NameOfData(std::string_view(data).substr(6))->ToText();
  }
  if (record.type == kTypeTxt) return data.substr(1);
  if (record.type == kTypeSoa) return "soa";
  return NameOfData(data)->ToText();
}

// "web.default.svc.cluster.local. A 10.0.0.1" each, sorted.
inline std::vector<std::string> Lines(const std::vector<Record>& records) {
  std::vector<std::string> lines;
  for (const Record& record : records)
    lines.push_back(record.owner.ToText() + " " + TypeName(record.type) + " " + DataText(record));
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace flyball::dns
