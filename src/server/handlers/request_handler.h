// RequestHandler: the way of one request: who are you (authentication), may you (authorisation), what is it
// (discovery, health, a resource), do it. One coroutine a request.
#pragma once

#include <atomic>
#include <memory>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/documents/documents.h"
#include "server/flow/flow_control.h"
#include "server/handlers/audit.h"
#include "server/handlers/endpoint.h"
#include "server/handlers/identity_metrics.h"
#include "server/handlers/request_metrics.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// Thread-safe.
class RequestHandler {
 public:
  RequestHandler(ServerState& state, const EndpointTable& endpoints, Documents& documents, FlowControl& flow,
                 Audit& audit)
      : state_(state),
        endpoints_(endpoints),
        documents_(documents),
        flow_(flow),
        audit_(audit),
        request_metrics_(state.metrics),
        identity_metrics_(state.metrics) {}

  // Answers on the stream, always: an exception becomes a 500 and is logged.
  Task<void> Handle(std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream);

 private:
  Task<Result<std::optional<Answer>>> Route(RequestScope& scope, const net::Request& request,
                                            std::shared_ptr<net::ResponseStream> stream);
  Task<Result<std::optional<Answer>>> RouteResource(RequestScope& scope, const net::Request& request,
                                                    std::shared_ptr<net::ResponseStream> stream);
  Task<Status> Authorize(RequestScope& scope) const;
  Task<Status> Identify(const net::Request& request, RequestScope& scope) const;

  ServerState& state_;
  const EndpointTable& endpoints_;
  Documents& documents_;
  FlowControl& flow_;
  Audit& audit_;
  RequestMetrics request_metrics_;
  mutable IdentityMetrics identity_metrics_;
};

}  // namespace flyball::server
