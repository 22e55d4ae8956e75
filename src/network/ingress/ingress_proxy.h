// IngressProxy: the handler that passes requests on to the backends that Ingress objects name.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/mutex.h"
#include "net/http/http.h"
#include "network/ingress/backend_pool.h"
#include "network/ingress/route_table.h"

namespace flyball::network {

// Thread-safe; handles requests on the threads of their connections. Each request goes to one endpoint, once:
// a backend that breaks off is answered 502, one that does not begin to answer in time 504, a Service without
// ready endpoints 503, and what no Ingress asks for 404. Answers and upgraded connections pass as they come.
class IngressProxy : public std::enable_shared_from_this<IngressProxy> {
 public:
  struct Ports {
    int http = 80, https = 443;
  };
  // `metrics` outlives it. `answer_timeout`: until an answer begins.
  IngressProxy(Ports ports, Duration answer_timeout, Metrics& metrics)
      : ports_(ports), answer_timeout_(answer_timeout), metrics_(metrics) {}

  // For a server that passes it to HttpServer::Start.
  net::Handler Handler();

  // From now on; pools that no route uses any more are dropped.
  void SetRoutes(std::shared_ptr<const RouteTable> routes);
  // The pool of each backend of the routes whose Service this is.
  std::vector<std::pair<BackendRef, std::shared_ptr<BackendPool>>> PoolsOf(const std::string& ns,
                                                                           const std::string& service);
  std::shared_ptr<const RouteTable> routes();

 private:
  void Serve(const std::shared_ptr<net::Request>& request,
             const std::shared_ptr<net::ResponseStream>& stream);
  void PassOn(const std::shared_ptr<net::Transport>& to, const net::Request& request,
              const std::shared_ptr<net::ResponseStream>& stream);
  void PassUpgradeOn(const std::shared_ptr<net::Transport>& to, const net::Request& request,
                     const std::shared_ptr<net::ResponseStream>& stream);
  int Fail(net::ResponseStream& stream, int status, std::string_view why);
  void Count(int status);
  net::Headers ForwardedHeaders(const net::Request& request) const;

  const Ports ports_;
  const Duration answer_timeout_;
  Metrics& metrics_;
  Mutex mu_;
  std::shared_ptr<const RouteTable> routes_ FLYBALL_GUARDED_BY(mu_) = std::make_shared<RouteTable>();
  std::map<BackendRef, std::shared_ptr<BackendPool>> pools_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::network
