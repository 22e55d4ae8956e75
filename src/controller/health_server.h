// HealthServer: serves /healthz (also /livez), /readyz, /metrics and, if reconciles are recorded,
// /debug/reconciles of a manager over plain HTTP. As in
// Kubernetes' components, the response is 200 "ok", or 500 with the list of checks; "?verbose" always shows
// the list.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "controller/manager.h"
#include "net/server/http_server.h"

namespace flyball {

// For a server of one thread and without TLS at "host:port" or ":port" (all addresses); hosts of IPv6 may be
// in brackets. BadRequest if the address is not of that form.
Result<net::ServerOptions> PlainServerAt(const std::string& address);

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
