// HealthCheckPorts: where load balancers ask a node whether it has endpoints of a Service with
// externalTrafficPolicy Local (upstream: pkg/proxy/healthcheck ServiceHealthServer).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "net/server/http_server.h"
#include "network/netlink/network_namespace.h"

namespace flyball::network {

struct HealthCheckPort {
  std::string ns, service;
  int local_endpoints = 0;
};

// Thread-safe.
class HealthCheckPorts {
 public:
  // Listens in `ns`, or where the caller is if that is null. `healthy`: whether the proxy is up to date.
  HealthCheckPorts(NetworkNamespace::Ptr ns, std::function<bool()> healthy);
  ~HealthCheckPorts();

  // What is to be answered at each port; ports that are not there any more are closed. `failed` is called for
  // a port that cannot be opened, which is tried again the next time.
  void Update(const std::map<std::uint16_t, HealthCheckPort>& ports,
              const std::function<void(const HealthCheckPort&, const Error&)>& failed);

 private:
  struct Answers;
  Result<std::unique_ptr<net::HttpServer>> Listen(std::uint16_t port);

  const NetworkNamespace::Ptr ns_;
  const std::shared_ptr<Answers> answers_;
  std::map<std::uint16_t, std::unique_ptr<net::HttpServer>> servers_;
};

}  // namespace flyball::network
