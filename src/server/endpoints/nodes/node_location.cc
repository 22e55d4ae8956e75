#include "server/endpoints/nodes/node_location.h"

#include "server/forward/service_endpoints.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

std::string NamesIn(const json::Value& containers) {
  std::string names;
  if (!containers.is_array()) return names;
  for (const auto& container : containers.as_array())
    names += (names.empty() ? "" : " ") + std::string(container["name"].string_or(""));
  return names;
}

bool HasContainer(const json::Value& containers, std::string_view name) {
  if (!containers.is_array()) return false;
  for (const auto& container : containers.as_array())
    if (container["name"].string_or("") == name) return true;
  return false;
}

}  // namespace

Result<std::string> ContainerOf(const json::Value& pod, std::string_view wanted) {
  const std::string pod_name(pod["metadata"]["name"].string_or(""));
  const auto& spec = pod["spec"];
  if (!wanted.empty()) {
    for (const auto list : {"containers", "initContainers", "ephemeralContainers"})
      if (HasContainer(spec[list], wanted)) return std::string(wanted);
    return Unexpected(BadRequest("container " + std::string(wanted) + " is not valid for pod " + pod_name));
  }
  const std::string names = NamesIn(spec["containers"]);
  if (names.find(' ') == std::string::npos && !names.empty()) return names;
  std::string message =
      "a container name must be specified for pod " + pod_name + ", choose one of: [" + names + "]";
  if (const auto more = NamesIn(spec["initContainers"]); !more.empty())
    message += " or one of the init containers: [" + more + "]";
  if (const auto more = NamesIn(spec["ephemeralContainers"]); !more.empty())
    message += " or one of the ephemeral containers: [" + more + "]";
  return Unexpected(BadRequest(message));
}

std::string NodeAddress::url() const {
  return "https://" + HostPort(host, port);
}

Result<NodeAddress> AddressOf(ServerState& state, const std::string& node_name) {
  const auto nodes = state.catalog.Find("", "v1", "nodes");
  const auto object = nodes->cache->Get(node_name);
  if (!object) return Unexpected(NotFound(*nodes->kind, node_name));
  const json::Value node = object->ToValue();
  NodeAddress address;
  if (const auto& list = node["status"]["addresses"]; list.is_array())
    for (const auto& entry : list.as_array())
      if (address.host.empty() && entry["type"].string_or("") == "InternalIP")
        address.host = entry["address"].string_or("");
  address.port = static_cast<int>(node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].int_or(0));
  if (address.host.empty() || address.port == 0)
    return Unexpected(Error(Reason::kUnknown, 500, "no preferred addresses found; known addresses: []"));
  return address;
}

std::shared_ptr<TransportCache> NewNodeTransports(const std::string& certificate_pem,
                                                  const std::string& key_pem, const std::string& ca_pem) {
  net::ClientTls tls;
  tls.ca_pem = ca_pem;
  tls.certificate_pem = certificate_pem;
  tls.private_key_pem = key_pem;
  return std::make_shared<TransportCache>(std::move(tls));
}

}  // namespace flyball::server
