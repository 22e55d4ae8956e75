// ProxyServer: what kube-proxy serves about itself over plain HTTP: /healthz and /livez with its state as
// JSON, /metrics and /proxyMode.
#pragma once

#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "net/server/http_server.h"
#include "network/services/service_proxy.h"

namespace flyball::network {

// Thread-safe. The proxy must outlive it.
class ProxyServer {
 public:
  // `address` is "host:port", or ":port" for all addresses.
  static Result<std::unique_ptr<ProxyServer>> Start(const std::string& address, const ServiceProxy& proxy,
                                                    Metrics& metrics, const Clock& clock);
  int port() const { return server_->port(); }

 private:
  explicit ProxyServer(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}
  const std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flyball::network
