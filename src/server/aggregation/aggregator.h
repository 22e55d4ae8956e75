// Aggregator: the part of the API that other servers serve (upstream: kube-aggregator). Requests for their
// group versions are passed on to them, by the front-proxy certificate and with the user in headers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/aggregation/api_service_monitor.h"
#include "server/registry/server_state.h"
#include "server/request/answer.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Thread-safe; the state outlives it.
class Aggregator {
 public:
  // `certificate_pem` and `key_pem`: of the front-proxy client; empty: none.
  Aggregator(ServerState& state, const std::string& certificate_pem, const std::string& key_pem);
  ~Aggregator();

  void Start() { monitor_->Start(); }
  // Ends what waits for other servers, except for requests that are being passed on.
  void Stop() { monitor_->Stop(); }
  void SetCertificate(const std::string& certificate_pem, const std::string& key_pem) {
    client_->SetCertificate(certificate_pem, key_pem);
  }

  // From now on the Service is a server in this process.
  void AddLocal(const std::string& service_namespace, const std::string& service_name,
                std::shared_ptr<net::Transport> transport) {
    client_->AddLocal(service_namespace, service_name, std::move(transport));
    monitor_->OnService(service_namespace, service_name);
  }

  // The API that answers the request; null if this server does.
  RemoteApiPtr Find(const RequestInfo& info) const;
  // Passes the request on, and waits until it is answered or the connections are joined. The answer to give
  // instead, or nullopt: the client has its answer, and the scope its status. Requires that the user may make
  // the request.
  Task<Result<std::optional<Answer>>> Serve(RemoteApiPtr api, RequestScope& scope,
                                            const net::Request& request,
                                            std::shared_ptr<net::ResponseStream> stream);

  const RemoteDocuments& documents() const { return monitor_->documents(); }

 private:
  const std::shared_ptr<RemoteClient> client_;
  const std::shared_ptr<ApiServiceMonitor> monitor_;
};

}  // namespace flyball::server
