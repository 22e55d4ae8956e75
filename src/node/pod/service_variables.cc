#include "node/pod/service_variables.h"

#include <cctype>
#include <map>

#include "base/values/ascii.h"

namespace flyball::node {
namespace {

std::string VariableName(const std::string& name) {
  std::string upper;
  for (const char c : name)
    upper += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string HostAndPort(const std::string& ip, int port) {
  const bool v6 = ip.find(':') != std::string::npos;
  return (v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

// As Docker's links, which came first, have them.
void AddLinks(const std::string& prefix, const Service& service, Variables& variables) {
  const std::string& ip = service.spec.cluster_ip;
  bool first = true;
  for (const ServicePort& port : service.spec.ports) {
    const std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
    const std::string scheme = LowerCase(protocol);
    const std::string url = scheme + "://" + HostAndPort(ip, port.port);
    if (std::exchange(first, false)) variables.emplace_back(prefix + "_PORT", url);
    const std::string link = prefix + "_PORT_" + std::to_string(port.port) + "_" + protocol;
    variables.emplace_back(link, url);
    variables.emplace_back(link + "_PROTO", scheme);
    variables.emplace_back(link + "_PORT", std::to_string(port.port));
    variables.emplace_back(link + "_ADDR", ip);
  }
}

void AddService(const Service& service, Variables& variables) {
  const std::string prefix = VariableName(service.metadata.name);
  const auto& ports = service.spec.ports;
  variables.emplace_back(prefix + "_SERVICE_HOST", service.spec.cluster_ip);
  variables.emplace_back(prefix + "_SERVICE_PORT", std::to_string(ports.front().port));
  for (const ServicePort& port : ports)
    if (!port.name.empty())
      variables.emplace_back(prefix + "_SERVICE_PORT_" + VariableName(port.name), std::to_string(port.port));
  AddLinks(prefix, service, variables);
}

}  // namespace

Variables ServiceVariables(const Pod& pod, const std::vector<std::shared_ptr<const Service>>& services) {
  const bool links = pod.spec.enable_service_links.value_or(true);
  std::map<std::string, std::shared_ptr<const Service>> chosen;
  for (const auto& service : services) {
    const std::string& ip = service->spec.cluster_ip;
    if (ip.empty() || ip == "None" || service->spec.ports.empty()) continue;
    const std::string &name = service->metadata.name, &ns = service->metadata.namespace_;
    const bool own = links && ns == pod.metadata.namespace_;
    // One of the pod's own namespace comes first.
    if (own) chosen[name] = service;
    if (!own && ns == "default" && name == "kubernetes") chosen.emplace(name, service);
  }
  Variables variables;
  for (const auto& [name, service] : chosen) AddService(*service, variables);
  return variables;
}

}  // namespace flyball::node
