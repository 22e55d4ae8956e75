#include "server/handlers/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "api/values/time.h"
#include "api/wire/status.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::server {
namespace {

json::Value UserValue(const User& user) {
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out.Set("uid", user.uid);
  out.Set("groups", json::Array(user.groups.begin(), user.groups.end()));
  if (user.extra.empty()) return out;
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra.Set(key, json::Array(values.begin(), values.end()));
  out.Set("extra", std::move(extra));
  return out;
}

json::Value ObjectRef(const RequestInfo& info) {
  json::Object out{{"resource", info.resource}};
  if (!info.namespace_name.empty()) out.Set("namespace", info.namespace_name);
  if (!info.name.empty()) out.Set("name", info.name);
  if (!info.group.empty()) out.Set("apiGroup", info.group);
  out.Set("apiVersion", info.version);
  if (!info.subresource.empty()) out.Set("subresource", info.subresource);
  return out;
}

// What was wrong is told in words that may quote the object: not of secrets.
json::Value ResponseStatus(const RequestInfo& info, int code, const Error* error) {
  if (!error) return json::Object{{"metadata", json::Object{}}, {"code", code}};
  if (info.resource == "secrets")
    return json::Object{{"metadata", json::Object{}}, {"status", "Failure"}, {"code", code}};
  json::Value status = api::StatusFromError(*error);
  status.as_object().Erase("kind");
  status.as_object().Erase("apiVersion");
  return status;
}

// The target as it was asked for, but for the values of parameters that are credentials.
std::string WithoutCredentials(std::string_view target) {
  const auto question = target.find('?');
  if (question == std::string_view::npos) return std::string(target);
  std::string out(target.substr(0, question));
  char separator = '?';
  for (const std::string& field : SplitText(target.substr(question + 1), '&')) {
    const auto equals = std::min(field.find('='), field.size());
    std::string name;
    PercentDecode(std::string_view(field).substr(0, equals), true, name);
    out += separator;
    out += LowerCase(name) == "access_token" ? field.substr(0, equals) + "=REDACTED" : field;
    separator = '&';
  }
  return out;
}

std::string SourceAddress(const net::Peer& peer) {
  return peer.address.substr(0, peer.address.rfind(':'));
}

}  // namespace

std::unique_ptr<Audit> Audit::Off() {
  return std::unique_ptr<Audit>(new Audit(-1));
}

Result<std::unique_ptr<Audit>> Audit::Open(const std::string& path) {
  const int fd = path == "-" ? ::dup(STDOUT_FILENO)
                             : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0)
    return Unexpected(InternalError("cannot open the audit log " + path + ": " + std::strerror(errno)));
  return std::unique_ptr<Audit>(new Audit(fd));
}

Audit::~Audit() {
  if (fd_ >= 0) ::close(fd_);
}

void Audit::Record(const RequestScope& scope, const net::Request& request, int code, const Error* error,
                   TimePoint finished) {
  if (!enabled()) return;
  json::Object event{{"kind", "Event"},
                     {"apiVersion", "audit.k8s.io/v1"},
                     {"level", "Metadata"},
                     {"auditID", scope.audit_id},
                     {"stage", "ResponseComplete"},
                     {"requestURI", WithoutCredentials(request.target)},
                     {"verb", scope.info.verb},
                     {"user", UserValue(scope.impersonator ? *scope.impersonator : scope.user)},
                     {"sourceIPs", json::Array{SourceAddress(request.peer)}},
                     {"userAgent", scope.user_agent}};
  if (scope.impersonator) event.Set("impersonatedUser", UserValue(scope.user));
  if (scope.info.is_resource) event.Set("objectRef", ObjectRef(scope.info));
  event.Set("responseStatus", ResponseStatus(scope.info, code, error));
  event.Set("requestReceivedTimestamp", api::FormatMicroTime(scope.now));
  event.Set("stageTimestamp", api::FormatMicroTime(finished));
  if (!scope.audit_annotations.empty()) {
    json::Object annotations;
    for (const auto& [key, value] : scope.audit_annotations) annotations.Set(key, value);
    event.Set("annotations", std::move(annotations));
  }
  const std::string line = json::Write(json::Value(std::move(event))) + "\n";
  if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    log::Error("the audit log cannot be written", {{"error", std::strerror(errno)}});
}

}  // namespace flyball::server
