// Audit events (audit.k8s.io/v1 Event) as JSON.
#pragma once

#include <string>

#include "base/values/error.h"
#include "json/value.h"
#include "net/http/http.h"
#include "server/audit/audit_policy.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// How a request ended, as far as it is known at a stage.
struct AuditOutcome {
  int code = 0;                  // 0: not yet known
  const Error* error = nullptr;  // null: none
  std::string message{};         // in place of the error's
  json::Value request_object{};  // null: none, or not wanted
  json::Value response_object{};
};

// An event of one stage. `authenticated` is who sent the request, or null.
json::Value MakeAuditEvent(const RequestScope& scope, const net::Request& request, const User* authenticated,
                           const AuditDecision& decision, AuditStage stage, AuditOutcome outcome,
                           TimePoint time);

// Completes an event that was made before the response began.
void SetAuditResponseCode(json::Value& event, int code, TimePoint time);

// Takes out what may be large and says so in an annotation (upstream: truncate).
void TruncateAuditEvent(json::Value& event);

// Removes metadata.managedFields of an object, a list's items or a table's rows.
void DropManagedFields(json::Value& object);

// The event as one line of text (--audit-log-format=legacy).
std::string LegacyAuditLine(const json::Value& event);

// The same target with the value of every access_token hidden.
std::string RedactTarget(std::string_view target);

}  // namespace flyball::server
