// ClusterIngress: serves the Ingress objects of a Manager's cluster by HTTP and HTTPS.
#pragma once

#include <memory>
#include <string>

#include "controller/manager.h"
#include "net/server/http_server.h"
#include "network/ingress/ingress_source.h"

namespace flyball::network {

struct IngressOptions {
  std::string address = "127.0.0.1";     // to listen on
  int http_port = 80, https_port = 443;  // 0: any free one
  // What status.loadBalancer says; empty: `address`, or the machine's own if that is all addresses.
  std::string published_address{};
  std::size_t max_body_bytes = 32u << 20;              // a request is read whole before it is passed on
  Duration answer_timeout = std::chrono::seconds(60);  // as nginx' proxy_read_timeout
};

// Thread-safe. Makes the IngressClass `flyball`, the default one, if there is none of that name; writes
// status.loadBalancer of each Ingress that it serves.
class ClusterIngress {
 public:
  // Listens when it returns. Before manager.Start; the manager outlives it, and is not ready before
  // everything is in effect. An error says which port cannot be had, and the flag that changes it.
  static Result<std::unique_ptr<ClusterIngress>> Start(Manager& manager, const IngressOptions& options);
  ~ClusterIngress();

  int http_port() const { return http_->port(); }
  int https_port() const { return https_->port(); }

 private:
  ClusterIngress() = default;

  std::shared_ptr<net::IoLoop> loop_;
  std::shared_ptr<IngressProxy> proxy_;
  std::shared_ptr<net::HttpServer> http_, https_;
  std::shared_ptr<IngressSource> source_;
};

}  // namespace flyball::network
