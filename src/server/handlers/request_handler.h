// RequestHandler: the way of one request: who are you (authentication), may you (authorisation), what is it
// (discovery, health, a resource), do it. One coroutine a request.
#pragma once

#include <atomic>
#include <memory>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/aggregation/aggregator.h"
#include "server/audit/audit_trail.h"
#include "server/documents/documents.h"
#include "server/flow/flow_control.h"
#include "server/handlers/endpoint.h"
#include "server/handlers/identity_metrics.h"
#include "server/handlers/request_drain.h"
#include "server/handlers/request_metrics.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// Flow: a request begins on its connection's I/O thread. Small ones end there too; what may take longer
// (WorkSize) goes on, and ends, on a worker. Guarantees: every request is answered within the request
// timeout, by its handler or by its deadline; long-running ones (watches, logs, exec) have none. Thread-safe.
class RequestHandler {
 public:
  // kube-apiserver's --request-timeout.
  static constexpr Duration kRequestTimeout = std::chrono::minutes(1);

  RequestHandler(ServerState& state, const EndpointTable& endpoints, Aggregator& aggregator,
                 Documents& documents, FlowControl& flow, Audit& audit,
                 Duration request_timeout = kRequestTimeout)
      : state_(state),
        endpoints_(endpoints),
        aggregator_(aggregator),
        documents_(documents),
        flow_(flow),
        audit_(audit),
        request_metrics_(state.metrics),
        identity_metrics_(state.metrics),
        deadlines_(RequestDeadlines::Make(state.executor, request_timeout)) {}

  // Answers on the stream, always: an exception becomes a 500 and is logged.
  Task<void> Handle(std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream);

  // From now on requests are refused, except for those that a server that ends still answers (RequestDrain).
  // `done` is called when those under way have ended, except for long-running ones.
  void RefuseMore(Closure done) { drain_.Close(std::move(done)); }

 private:
  Task<Result<std::optional<Answer>>> Route(RequestScope& scope, const net::Request& request,
                                            AuditTrail& trail, std::shared_ptr<net::ResponseStream> stream);
  Task<Result<std::optional<Answer>>> RouteResource(RequestScope& scope, const net::Request& request,
                                                    std::shared_ptr<net::ResponseStream> stream);
  // Everything about the request from here on happens on a worker thread: I/O threads are for short work.
  // An error if it is not wanted any more when its turn comes.
  Task<Status> MoveToWorker(RequestScope& scope) const;
  // Of a store that others write too: waits until the cache has what the request must see.
  Task<Status> CatchUp(RequestScope& scope) const;
  // Sends the answer, unless the deadline has answered; its code.
  Task<int> SendFinal(RequestScope& scope, const net::Request& request, net::ResponseStream& stream,
                      Answer& answer);
  Task<Status> Authorize(RequestScope& scope) const;
  Task<Status> Identify(const net::Request& request, RequestScope& scope, AuditTrail& trail) const;

  ServerState& state_;
  const EndpointTable& endpoints_;
  Aggregator& aggregator_;
  Documents& documents_;
  FlowControl& flow_;
  Audit& audit_;
  RequestMetrics request_metrics_;
  mutable IdentityMetrics identity_metrics_;
  const std::shared_ptr<RequestDeadlines> deadlines_;
  RequestDrain drain_;
};

}  // namespace flyball::server
