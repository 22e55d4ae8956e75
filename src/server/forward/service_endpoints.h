// Where the requests to a Service go. Cluster IPs need not be routed on the API server's machine, so its
// ready endpoints are taken from the cache (upstream: apiserver/pkg/util/proxy). Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/random.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// One ready endpoint of a port of a Service.
struct ServiceEndpoint {
  std::string address;  // an IP address
  std::int64_t port = 0;
  std::string pod;  // of the Service's namespace; "" if the EndpointSlice names none
};

// The ready endpoints of the port of that name (of a Service's own ports, "" is the one without a name),
// those of the Service's first IP family before the others. No EndpointSlice may hold a loopback address,
// which is what pods have that share the network of a machine that serves itself alone: those are found by
// the Service's selector.
std::vector<ServiceEndpoint> ReadyEndpoints(const Catalog& catalog, const json::Value& service,
                                            const std::string& port_name);

// Where a Service is reached at one of its ports.
struct ServiceAddress {
  std::string host;  // an IP address or, of an ExternalName Service, a DNS name
  std::int64_t port = 0;

  // "https://host:port", IPv6 addresses in brackets.
  std::string Url() const;
};

// A random ready endpoint of the Service's port, or the external name of an ExternalName Service. NotFound if
// there is no such Service; ServiceUnavailable, with upstream's messages, if it has no such port or no ready
// endpoint.
Result<ServiceAddress> ResolveService(const Catalog& catalog, Random& random,
                                      const std::string& namespace_name, const std::string& name,
                                      std::int64_t port);

// The Service's port of that number; null if it has none.
const json::Value* FindServicePort(const json::Value& service, std::int64_t port);

// The EndpointSlices of a Service.
std::vector<json::Value> EndpointSlicesOf(const Catalog& catalog, const std::string& namespace_name,
                                          const std::string& name);

// IPv6 addresses in brackets.
std::string HostPort(const std::string& host, std::int64_t port);

}  // namespace flyball::server
