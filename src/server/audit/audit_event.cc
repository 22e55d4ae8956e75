#include "server/audit/audit_event.h"

#include <algorithm>
#include <charconv>

#include "api/values/go_text.h"
#include "api/values/time.h"
#include "api/wire/status.h"
#include "base/values/ascii.h"

namespace flyball::server {
namespace {

// Upstream's limit of a user agent.
constexpr std::size_t kMaxUserAgent = 1024;
constexpr std::string_view kTruncated = "...TRUNCATED";
// An error may quote a whole object; a line of the audit log says enough with this much.
constexpr std::size_t kMaxMessage = 32 << 10;

std::string CutText(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;  // whole characters
  return std::string(text.substr(0, limit)) + std::string(kTruncated);
}

json::Value AuditUser(const User& user) {
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out.Set("uid", user.uid);
  out.Set("groups", json::Array(user.groups.begin(), user.groups.end()));
  if (user.extra.empty()) return out;
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra.Set(key, json::Array(values.begin(), values.end()));
  out.Set("extra", std::move(extra));
  return out;
}

// What the request says of its object, and what the object says itself.
json::Value AuditObjectRef(const RequestInfo& info, const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  const auto text = [&](const std::string& known, const char* field) {
    return known.empty() ? std::string(metadata[field].string_or("")) : known;
  };
  json::Object out{{"resource", info.resource}};
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.Set(name, value);
  };
  set("namespace", text(info.namespace_name, "namespace"));
  set("name", text(info.name, "name"));
  set("uid", text({}, "uid"));
  set("apiGroup", info.group);
  out.Set("apiVersion", info.version);
  set("resourceVersion", text({}, "resourceVersion"));
  set("subresource", info.subresource);
  return out;
}

// What was wrong is told in words that may quote the object: not of secrets.
json::Value AuditResponseStatus(const RequestInfo& info, const AuditOutcome& outcome) {
  json::Object out{{"metadata", json::Object{}}};
  if (outcome.error && info.resource != "secrets") {
    const json::Value status = api::StatusFromError(*outcome.error);
    for (const auto& [key, value] : status.as_object())
      if (key != "kind" && key != "apiVersion") out.Set(key, value);
    if (outcome.error->message().size() > kMaxMessage) {
      out.Set("message", CutText(outcome.error->message(), kMaxMessage));
      out.Erase("details");
    }
  } else if (outcome.error) {
    out.Set("status", "Failure");
  }
  if (!outcome.message.empty()) {
    out.Set("status", "Failure");
    out.Set("message", CutText(outcome.message, kMaxMessage));
  }
  out.Set("code", outcome.code);
  return out;
}

std::string SourceAddress(const net::Peer& peer) {
  std::string address = peer.address.substr(0, peer.address.rfind(':'));
  if (address.starts_with("[") && address.ends_with("]")) address = address.substr(1, address.size() - 2);
  return address;
}

void DropFrom(json::Value* object) {
  if (!object || !object->is_object()) return;
  if (json::Value* metadata = object->Find("metadata"); metadata && metadata->is_object())
    metadata->as_object().Erase("managedFields");
}

// The name may be percent-encoded, and is then the same to whoever reads it.
bool IsAccessToken(std::string_view name) {
  std::string decoded;
  for (std::size_t i = 0; i < name.size(); ++i) {
    unsigned value = 0;
    const char* digits = name.data() + i + 1;
    if (name[i] == '%' && i + 2 < name.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += name[i];
    }
  }
  return LowerCase(decoded) == "access_token";
}

std::string QuotedStrings(const json::Value& list) {
  std::string out;
  if (!list.is_array()) return out;
  for (const json::Value& element : list.as_array())
    out += (out.empty() ? "" : ",") + api::GoQuote(element.string_or(""));
  return out;
}

}  // namespace

json::Value MakeAuditEvent(const RequestScope& scope, const net::Request& request, const User* authenticated,
                           const AuditDecision& decision, AuditStage stage, AuditOutcome outcome,
                           TimePoint time) {
  json::Object event{{"kind", "Event"},
                     {"apiVersion", "audit.k8s.io/v1"},
                     {"level", AuditLevelName(decision.level)},
                     {"auditID", scope.audit_id},
                     {"stage", AuditStageName(stage)},
                     {"requestURI", RedactTarget(request.target)},
                     {"verb", scope.info.verb},
                     {"user", authenticated ? AuditUser(*authenticated) : json::Value(json::Object{})}};
  if (scope.impersonator && authenticated) event.Set("impersonatedUser", AuditUser(scope.user));
  event.Set("sourceIPs", json::Array{SourceAddress(request.peer)});
  if (!scope.user_agent.empty()) event.Set("userAgent", CutText(scope.user_agent, kMaxUserAgent));
  if (scope.info.is_resource) event.Set("objectRef", AuditObjectRef(scope.info, outcome.request_object));
  if (outcome.code != 0) event.Set("responseStatus", AuditResponseStatus(scope.info, outcome));
  if (!outcome.request_object.is_null()) event.Set("requestObject", std::move(outcome.request_object));
  if (!outcome.response_object.is_null()) event.Set("responseObject", std::move(outcome.response_object));
  event.Set("requestReceivedTimestamp", api::FormatMicroTime(scope.now));
  event.Set("stageTimestamp", api::FormatMicroTime(time));
  if (!scope.audit_annotations.empty()) {
    json::Object annotations;
    for (const auto& [key, value] : scope.audit_annotations)
      if (decision.level >= AuditLevel::kRequest || !key.starts_with(kPatchAnnotationPrefix))
        annotations.Set(key, value);
    event.Set("annotations", std::move(annotations));
  }
  return event;
}

void SetAuditResponseCode(json::Value& event, int code, TimePoint time) {
  event["responseStatus"] = json::Object{{"metadata", json::Object{}}, {"code", code}};
  event["stageTimestamp"] = api::FormatMicroTime(time);
}

void TruncateAuditEvent(json::Value& event) {
  event.as_object().Erase("requestObject");
  event.as_object().Erase("responseObject");
  event["annotations"]["audit.k8s.io/truncated"] = "true";
}

void DropManagedFields(json::Value& object) {
  DropFrom(&object);
  if (json::Value* items = object.Find("items"); items && items->is_array())
    for (json::Value& item : items->as_array()) DropFrom(&item);
  if (json::Value* rows = object.Find("rows"); rows && rows->is_array())
    for (json::Value& row : rows->as_array()) DropFrom(row.Find("object"));
}

std::string LegacyAuditLine(const json::Value& event) {
  const auto text = [](const json::Value& value, const char* otherwise) {
    const auto found = value.string_or("");
    return api::GoQuote(found.empty() ? std::string_view(otherwise) : found);
  };
  const json::Value& user = event["user"];
  const json::Value& as = event["impersonatedUser"];
  const std::string groups = QuotedStrings(user["groups"]), as_groups = QuotedStrings(as["groups"]);
  const json::Value& ips = event["sourceIPs"];
  const json::Value& code = event["responseStatus"]["code"];
  return std::string(event["requestReceivedTimestamp"].string_or("")) +
         " AUDIT: id=" + text(event["auditID"], "") + " stage=" + text(event["stage"], "") +
         " ip=" + (ips.size() > 0 ? text(ips.as_array()[0], "<unknown>") : "\"<unknown>\"") +
         " method=" + text(event["verb"], "") + " user=" + text(user["username"], "<none>") +
         " groups=" + api::GoQuote(groups.empty() ? "<none>" : groups) +
         " as=" + text(as["username"], "<self>") +
         " asgroups=" + api::GoQuote(as_groups.empty() ? "<lookup>" : as_groups) +
         " user-agent=" + text(event["userAgent"], "") +
         " namespace=" + text(event["objectRef"]["namespace"], "<none>") +
         " uri=" + text(event["requestURI"], "") + " response=\"" +
         (code.is_int() ? std::to_string(code.as_int()) : "<deferred>") + "\"";
}

std::string RedactTarget(std::string_view target) {
  const auto question = target.find('?');
  if (question == std::string_view::npos) return std::string(target);
  std::string out(target.substr(0, question + 1));
  for (std::size_t at = question + 1;;) {
    const std::size_t end = std::min(target.find('&', at), target.size());
    const std::string_view field = target.substr(at, end - at);
    const std::size_t equals = std::min(field.find('='), field.size());
    const bool secret = IsAccessToken(field.substr(0, equals));
    out += secret ? std::string(field.substr(0, equals)) + "=REDACTED" : std::string(field);
    if (end == target.size()) return out;
    out += '&';
    at = end + 1;
  }
}

}  // namespace flyball::server
