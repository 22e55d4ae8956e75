// The rows of services, endpoints, ingresses and their like.
#include <algorithm>
#include <set>

#include "api/tables/printer.h"
#include "base/values/ascii.h"

namespace flyball::api {

namespace {

// At most so many list elements are shown, then "+ n more...".
constexpr std::size_t kShownAddresses = 3;

std::string WithMore(const std::vector<std::string>& shown, std::size_t count) {
  std::string out;
  for (const auto& s : shown) out += (out.empty() ? "" : ",") + s;
  if (count > shown.size()) out += " + " + std::to_string(count - shown.size()) + " more...";
  return out;
}

std::string LoadBalancerAddresses(const json::Value& ingress) {
  std::set<std::string> addresses;
  for (const auto& entry : Elements(ingress)) {
    const auto address = TextOr(entry["ip"], entry["hostname"].string_or(""));
    if (!address.empty()) addresses.emplace(address);
  }
  return WithMore({addresses.begin(), addresses.end()}, addresses.size());
}

std::string ExternalIp(const json::Value& service) {
  const auto& spec = service["spec"];
  const auto type = spec["type"].string_or("");
  const auto external = JoinStrings(spec["externalIPs"]);
  if (type == "ClusterIP" || type == "NodePort") return external.empty() ? std::string(kNoneText) : external;
  if (type == "ExternalName") return std::string(spec["externalName"].string_or(""));
  if (type != "LoadBalancer") return std::string(kUnknownText);
  auto balancer = LoadBalancerAddresses(service["status"]["loadBalancer"]["ingress"]);
  if (balancer.empty() && external.empty()) return "<pending>";
  if (balancer.empty() || external.empty()) return balancer + external;
  return balancer + ',' + external;
}

std::string ServicePorts(const json::Value& ports) {
  std::string out;
  for (const auto& port : Elements(ports)) {
    if (!out.empty()) out += ',';
    out += std::to_string(port["port"].int_or(0));
    if (const auto node_port = port["nodePort"].int_or(0); node_port > 0)
      out += ':' + std::to_string(node_port);
    out += '/' + std::string(port["protocol"].string_or(""));
  }
  return out.empty() ? std::string(kNoneText) : out;
}

void PrintService(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& ips = Elements(spec["clusterIPs"]);
  row.Name(object);
  row.Text(spec["type"].string_or(""));
  row.Text(ips.empty() ? kNoneText : ips.front().string_or(""));
  row.Text(ExternalIp(object));
  row.Text(ServicePorts(spec["ports"]));
  row.Created(object);
  row.Text(FormatLabels(spec["selector"]));
}

std::string HostPort(std::string_view ip, const json::Value& port) {
  const bool v6 = ip.find(':') != std::string_view::npos;
  return (v6 ? '[' + std::string(ip) + ']' : std::string(ip)) + ':' + std::to_string(port.int_or(0));
}

std::string EndpointList(const json::Value& subsets) {
  if (Elements(subsets).empty()) return std::string(kNoneText);
  std::vector<std::string> shown;
  std::size_t count = 0;
  for (const auto& subset : subsets.as_array()) {
    const auto& addresses = Elements(subset["addresses"]);
    const auto& ports = Elements(subset["ports"]);
    count += addresses.size() * std::max<std::size_t>(ports.size(), 1);
    for (std::size_t p = 0; p < std::max<std::size_t>(ports.size(), 1); ++p)
      for (const auto& address : addresses) {
        if (shown.size() == kShownAddresses) break;
        const auto ip = address["ip"].string_or("");
        shown.push_back(ports.empty() ? std::string(ip) : HostPort(ip, ports[p]["port"]));
      }
  }
  return WithMore(shown, count);
}

void PrintEndpoints(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(EndpointList(object["subsets"]));
  row.Created(object);
}

std::string SlicePorts(const json::Value& ports) {
  std::vector<std::string> shown;
  for (const auto& port : Elements(ports)) {
    if (shown.size() == kShownAddresses) break;
    shown.push_back(port["port"].is_int() ? std::to_string(port["port"].as_int())
                                          : std::string(port["name"].string_or("*")));
  }
  const auto out = WithMore(shown, ports.size());
  return out.empty() ? std::string(kUnsetText) : out;
}

std::string SliceAddresses(const json::Value& endpoints) {
  std::vector<std::string> shown;
  std::size_t count = 0;
  for (const auto& endpoint : Elements(endpoints)) {
    for (const auto& address : Elements(endpoint["addresses"]))
      if (++count <= kShownAddresses) shown.emplace_back(address.string_or(""));
  }
  const auto out = WithMore(shown, count);
  return out.empty() ? std::string(kUnsetText) : out;
}

void PrintEndpointSlice(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["addressType"].string_or(""));
  row.Text(SlicePorts(object["ports"]));
  row.Text(SliceAddresses(object["endpoints"]));
  row.Created(object);
}

std::string IngressHosts(const json::Value& rules) {
  std::vector<std::string> shown;
  bool more = false;
  for (const auto& rule : Elements(rules)) {
    if (shown.size() == kShownAddresses) more = true;
    const auto host = rule["host"].string_or("");
    if (!more && !host.empty()) shown.emplace_back(host);
  }
  if (shown.empty()) return "*";
  return WithMore(shown, more ? rules.size() : shown.size());
}

void PrintIngress(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  row.Name(object);
  row.Text(spec["ingressClassName"].string_or(kNoneText));
  row.Text(IngressHosts(spec["rules"]));
  row.Text(LoadBalancerAddresses(object["status"]["loadBalancer"]["ingress"]));
  row.Text(spec["tls"].empty() ? "80" : "80, 443");
  row.Created(object);
}

void PrintIngressClass(const json::Value& object, RowWriter& row) {
  const auto& parameters = object["spec"]["parameters"];
  std::string text(kNoneText);
  if (parameters.is_object()) {
    text = parameters["kind"].string_or("");
    if (parameters["apiGroup"].is_string()) text += '.' + std::string(parameters["apiGroup"].as_string());
    text += '/' + std::string(parameters["name"].string_or(""));
  }
  row.Name(object);
  row.Text(object["spec"]["controller"].string_or(""));
  row.Text(text);
  row.Created(object);
}

void PrintNetworkPolicy(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(FormatSelector(object["spec"]["podSelector"]));
  row.Created(object);
}

void PrintServiceCidr(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(JoinStrings(object["spec"]["cidrs"]));
  row.Created(object);
}

void PrintIpAddress(const json::Value& object, RowWriter& row) {
  const auto& parent = object["spec"]["parentRef"];
  std::string text(kNoneText);
  if (parent.is_object()) {
    text = LowerCase(parent["resource"].string_or(""));
    if (const auto group = parent["group"].string_or(""); !group.empty()) text += '.' + LowerCase(group);
    if (const auto ns = parent["namespace"].string_or(""); !ns.empty()) text += '/' + std::string(ns);
    text += '/' + std::string(parent["name"].string_or(""));
  }
  row.Name(object);
  row.Text(text);
  row.Created(object);  // a cell more than there are columns, as upstream
}

}  // namespace

std::vector<PrinterEntry> NetworkPrinters() {
  return {
      {"", "Service", PrintService},
      {"", "Endpoints", PrintEndpoints},
      {"discovery.k8s.io", "EndpointSlice", PrintEndpointSlice},
      {"networking.k8s.io", "Ingress", PrintIngress},
      {"networking.k8s.io", "IngressClass", PrintIngressClass},
      {"networking.k8s.io", "NetworkPolicy", PrintNetworkPolicy},
      {"networking.k8s.io", "ServiceCIDR", PrintServiceCidr},
      {"networking.k8s.io", "IPAddress", PrintIpAddress},
  };
}

}  // namespace flyball::api
