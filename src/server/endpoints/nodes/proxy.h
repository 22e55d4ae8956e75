// pods/proxy, services/proxy and nodes/proxy: HTTP to a pod, to one of a service's pods, to a node's server.
#pragma once

#include "server/forward/transport_cache.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddProxyEndpoints(EndpointTable& table, std::shared_ptr<TransportCache> nodes);

// "name", "name:port" or "scheme:name:port", as the name of a proxied object may be given.
struct ProxyName {
  std::string scheme;  // "" , "http" or "https"
  std::string name, port;
};
// False if it is none of the three.
bool ParseProxyName(std::string_view text, ProxyName& out);

// The target behind ".../proxy", still encoded: "/a%20b?c=d"; "" if there is nothing at all.
std::string ProxiedTarget(std::string_view target, std::string_view subresource = "proxy");

}  // namespace flyball::server
