// AuditTrail: what is recorded of one request, stage by stage (upstream: AuditContext).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/audit/audit.h"
#include "server/audit/audit_event.h"
#include "server/request/answer.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Lives as long as the request's coroutine and is confined to it. Scope and request outlive it.
class AuditTrail {
 public:
  AuditTrail(const Audit& audit, RequestScope& scope, const net::Request& request, const Clock& clock)
      : audit_(audit), scope_(scope), request_(request), clock_(clock) {}

  // Once it is known who sent the request (scope.user): decides what is recorded. InternalError if the event
  // could not be recorded and the mode insists on it.
  Task<Status> Received();
  // For a request that streams or switches protocols: gives back a stream on which the beginning of the
  // response is recorded.
  std::shared_ptr<net::ResponseStream> WatchStart(std::shared_ptr<net::ResponseStream> stream);

  // True if bodies are to be recorded.
  bool WantsRequest() const { return decision_.level >= AuditLevel::kRequest; }
  // Before the response is encoded for the client: keeps what is to be recorded of it.
  void NoteResponse(Answer& answer);

  // How it ended. `request_object` is null unless WantsRequest.
  Task<void> Finished(int code, const Error* error, const std::string& panic, json::Value request_object);

 private:
  const User* Sender() const;
  void Decide();
  Task<bool> Record(AuditStage stage, AuditOutcome outcome);

  const Audit& audit_;
  RequestScope& scope_;
  const net::Request& request_;
  const Clock& clock_;
  bool decided_ = false, authenticated_ = false;
  AuditDecision decision_;
  std::shared_ptr<bool> start_recorded_;   // of a request that lasts
  std::shared_ptr<std::string> response_;  // as much of the body as is kept
};

}  // namespace flyball::server
