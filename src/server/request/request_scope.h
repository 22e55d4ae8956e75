// RequestScope: everything about one request that the layers below the HTTP handler need to know.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "base/run/executor.h"
#include "server/catalog/catalog.h"
#include "server/request/request_info.h"
#include "server/request/request_life.h"
#include "server/request/user.h"

namespace flyball::server {

enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };

// Audit annotations of this kind hold parts of objects: they are for events that do so too (upstream:
// AddAnnotationWithLevel).
inline constexpr std::string_view kPatchAnnotationPrefix = "patch.webhook.admission.k8s.io/";

// Lives as long as the request's coroutine. Confined to it.
struct RequestScope {
  RequestScope(RequestInfo request_info, User request_user, Executor& request_executor, TimePoint time)
      : info(std::move(request_info)), user(std::move(request_user)), executor(request_executor), now(time) {}

  RequestInfo info;
  User user;
  std::optional<User> impersonator;           // who authenticated, if the request acts as somebody else
  std::reference_wrapper<Executor> executor;  // where the coroutine resumes
  TimePoint now;
  std::string user_agent;
  std::string audit_id;
  ResourcePtr resource;

  // Options of writes, from the query or the body of a DELETE.
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::kWarn;
  std::string field_manager;
  bool force = false;
  bool disabled_fields = false;  // the body has fields whose feature gates are off

  std::string flow_schema_uid, priority_level_uid;       // where flow control put it
  bool audited = false;                                  // somebody reads the next one
  std::map<std::string, std::string> audit_annotations;  // what admission notes in the audit log
  std::vector<std::string> warnings;                     // become Warning headers, duplicates once

  std::optional<int> relayed_status;  // of an answer that another server gave
  std::string unlisted_reason;        // of the error that ends the request, if it is none of Reason's

  // Of the request's deadline and client; null: nobody waits, as for the server's own writes.
  std::shared_ptr<RequestLife> life;
  // Whether to go on. A write asks before it commits; long work asks now and then.
  Status CheckAlive() const { return life ? life->Check() : Status(); }

  // The manager of fields this request changes: the option, else the user agent up to its first '/'.
  std::string Manager() const;
};

}  // namespace flyball::server
