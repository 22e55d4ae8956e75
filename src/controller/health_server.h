// HealthServer: serves /healthz (also /livez), /readyz and /metrics of a manager over plain HTTP. As in
// Kubernetes' components, the response is 200 "ok", or 500 with the list of checks; "?verbose" always shows
// the list.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "controller/manager.h"
#include "net/server/http_server.h"

namespace flyball {

// Thread-safe. The manager must outlive it.
class HealthServer {
 public:
  // `address` is "host:port" or ":port" (all addresses).
  static Result<std::unique_ptr<HealthServer>> Start(const std::string& address, Manager& manager);
  int port() const { return server_->port(); }

 private:
  explicit HealthServer(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}
  const std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flyball
