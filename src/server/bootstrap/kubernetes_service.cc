#include "server/bootstrap/kubernetes_service.h"

#include "api/values/ip_address.h"
#include "api/values/time.h"
#include "base/values/ascii.h"

namespace flyball::server {
namespace {

constexpr int kHttpsPort = 443;

json::Value NamedKubernetes(std::string_view api_version, std::string_view kind, json::Object labels) {
  return json::Object{
      {"apiVersion", api_version},
      {"kind", kind},
      {"metadata",
       json::Object{{"name", "kubernetes"}, {"namespace", "default"}, {"labels", std::move(labels)}}}};
}

json::Array HttpsPorts(int port) {
  return {json::Object{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}};
}

}  // namespace

Result<std::string> KubernetesServiceAddress(const std::string& service_range) {
  const std::vector<std::string> ranges = SplitWords(service_range, ",");
  const auto range = ranges.empty() ? std::nullopt : api::ParseCidr(ranges.front());
  if (!range) return Unexpected(BadRequest("no service range: \"" + service_range + "\""));
  api::IpAddress first = range->Network();
  first.bytes.back() = static_cast<std::uint8_t>(first.bytes.back() + 1);
  return first.ToString();
}

Result<json::Value> KubernetesService(const std::string& service_range, int port) {
  FLYBALL_ASSIGN(const std::string address, KubernetesServiceAddress(service_range));
  const bool v4 = address.find(':') == std::string::npos;
  auto ports = HttpsPorts(kHttpsPort);
  ports[0]["targetPort"] = port;
  json::Value service =
      NamedKubernetes("v1", "Service", {{"component", "apiserver"}, {"provider", "kubernetes"}});
  service["spec"] = json::Object{{"type", "ClusterIP"},
                                 {"clusterIP", address},
                                 {"clusterIPs", json::Array{address}},
                                 {"ipFamilies", json::Array{v4 ? "IPv4" : "IPv6"}},
                                 {"ipFamilyPolicy", "SingleStack"},
                                 {"ports", std::move(ports)}};
  return service;
}

json::Value KubernetesServiceCidr(const std::string& service_range, TimePoint now) {
  json::Array cidrs;
  for (const std::string& range : SplitWords(service_range, ",")) cidrs.emplace_back(range);
  return json::Object{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "ServiceCIDR"},
      {"metadata", json::Object{{"name", "kubernetes"}}},
      {"spec", json::Object{{"cidrs", std::move(cidrs)}}},
      {"status",
       json::Object{{"conditions",
                     json::Array{json::Object{{"type", "Ready"},
                                              {"status", "True"},
                                              {"lastTransitionTime", api::FormatTime(now)},
                                              {"reason", ""},
                                              {"message", "Kubernetes default Service CIDR is ready"}}}}}}};
}

std::vector<json::Value> KubernetesEndpoints(const std::vector<std::string>& addresses, int port) {
  const auto is_v4 = [](const std::string& address) { return address.find(':') == std::string::npos; };
  const bool v4 = is_v4(addresses.front());
  json::Array of_subset, of_slice;
  for (const auto& address : addresses) {
    of_subset.push_back(json::Object{{"ip", address}});
    if (is_v4(address) == v4)
      of_slice.push_back(
          json::Object{{"addresses", json::Array{address}}, {"conditions", json::Object{{"ready", true}}}});
  }
  json::Value endpoints =
      NamedKubernetes("v1", "Endpoints", {{"endpointslice.kubernetes.io/skip-mirror", "true"}});
  endpoints["subsets"] =
      json::Array{json::Object{{"addresses", std::move(of_subset)}, {"ports", HttpsPorts(port)}}};
  json::Value slice =
      NamedKubernetes("discovery.k8s.io/v1", "EndpointSlice", {{"kubernetes.io/service-name", "kubernetes"}});
  slice["addressType"] = v4 ? "IPv4" : "IPv6";
  slice["endpoints"] = std::move(of_slice);
  slice["ports"] = HttpsPorts(port);
  return {std::move(endpoints), std::move(slice)};
}

}  // namespace flyball::server
