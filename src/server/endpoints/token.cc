#include "server/endpoints/token.h"

#include <utility>

#include "api/apply/managed_fields.h"
#include "api/rules/field_error.h"
#include "api/schema/decode.h"
#include "api/values/time.h"
#include "json/json.h"
#include "server/handlers/subresource_admission.h"
#include "server/registry/object_codec.h"
#include "server/registry/write_options.h"
#include "server/request/api_errors.h"
#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

constexpr std::int64_t kMinSeconds = 600;
constexpr std::int64_t kMaxSeconds = std::int64_t{1} << 32;
constexpr std::int64_t kDefaultSeconds = 3600;

// Of what a token is bound to, upstream says the kind and not the resource.
Error ConflictOf(const std::string& kind, const std::string& name, const std::string& why) {
  return Error(Reason::kConflict, 409,
               "Operation cannot be fulfilled on " + kind + " \"" + name + "\": " + why,
               {.name = name, .kind = kind, .present = true});
}

class TokenEndpoint final : public Endpoint {
 public:
  explicit TokenEndpoint(ServiceAccountTokens& tokens) : tokens_(tokens) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), false));
    const auto* type = api::FindType("io.k8s.api.authentication.v1.TokenRequest");
    FLYBALL_CO_ASSIGN(json::Value body, DecodeBody(scope, *type, "authentication.k8s.io/v1", "TokenRequest",
                                                   request.headers.Get("content-type"), request.body));
    FLYBALL_CO_TRY(CheckMetadata(scope, body["metadata"]));
    json::Value owned = TrackToken(scope, *type, body);
    const auto account =
        scope.resource->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!account) co_return Unexpected(NotFound(*scope.resource->kind, scope.info.name));
    const auto seconds = body["spec"]["expirationSeconds"].int_or(kDefaultSeconds);
    FLYBALL_CO_TRY(CheckSeconds(seconds));
    FLYBALL_CO_TRY(co_await AdmitSubresource(state, scope, body));
    FLYBALL_CO_ASSIGN(const BoundObject bound, Bind(state, scope, body["spec"]["boundObjectRef"]));
    std::vector<std::string> audiences;
    if (const auto& list = body["spec"]["audiences"]; list.is_array())
      for (const auto& item : list.as_array()) audiences.emplace_back(item.string_or(""));
    if (audiences.empty()) audiences = tokens_.audiences();
    FLYBALL_CO_ASSIGN(const IssuedToken issued,
                      tokens_.Issue(scope.info.namespace_name, scope.info.name, account->uid(), audiences,
                                    std::chrono::seconds(seconds), bound));
    body["metadata"] = json::Object{{"name", scope.info.name},
                                    {"namespace", scope.info.namespace_name},
                                    {"uid", account->uid()},
                                    {"creationTimestamp", api::FormatTime(scope.now)}};
    if (!owned.is_null()) body["metadata"]["managedFields"] = std::move(owned);
    body["spec"]["audiences"] = json::Array(audiences.begin(), audiences.end());
    body["spec"]["expirationSeconds"] = seconds;
    body["status"] =
        json::Object{{"token", issued.token}, {"expirationTimestamp", api::FormatTime(issued.expires)}};
    api::Canonicalize(*type, body);
    co_return std::optional(Answer{201, "application/json", json::Write(body)});
  }

 private:
  // Who asked for what, as of any object that is written.
  static json::Value TrackToken(const RequestScope& scope, const api::TypeInfo& type,
                                const json::Value& body) {
    json::Value asked = body;
    json::Value& seconds = asked["spec"]["expirationSeconds"];
    if (seconds.is_null()) seconds = kDefaultSeconds;
    const std::string manager = scope.Manager();
    api::UpdateManagedFields(type, nullptr, asked, {manager, "token", "authentication.k8s.io/v1", scope.now});
    json::Value* managed = asked["metadata"].Find("managedFields");
    return managed != nullptr ? std::move(*managed) : json::Value();
  }

  static Status CheckMetadata(const RequestScope& scope, const json::Value& metadata) {
    api::FieldErrors errors;
    const auto check = [&](const char* member, const std::string& must) {
      const auto given = metadata[member].string_or("");
      if (!given.empty() && given != must)
        errors.Invalid(api::FieldPath("metadata").Child(member), given,
                       "must match the service account " + std::string(member) + " if specified");
    };
    check("name", scope.info.name);
    check("namespace", scope.info.namespace_name);
    if (errors.empty()) return {};
    return Unexpected(errors.ToError("authentication.k8s.io", "TokenRequest", scope.info.name));
  }

  static Status CheckSeconds(std::int64_t seconds) {
    api::FieldErrors errors;
    const api::FieldPath path("spec.expirationSeconds");
    if (seconds < kMinSeconds)
      errors.Invalid(path, seconds, "may not specify a duration less than 10 minutes");
    if (seconds > kMaxSeconds)
      errors.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
    if (errors.empty()) return {};
    return Unexpected(errors.ToError("authentication.k8s.io", "TokenRequest", ""));
  }

  static Result<BoundObject> Bind(ServerState& state, const RequestScope& scope,
                                  const json::Value& reference) {
    BoundObject bound;
    if (!reference.is_object()) return bound;
    bound.kind = reference["kind"].string_or("");
    bound.name = reference["name"].string_or("");
    const std::string plural = bound.kind == "Pod" ? "pods" : bound.kind == "Secret" ? "secrets" : "nodes";
    if (bound.kind != "Pod" && bound.kind != "Secret" && bound.kind != "Node")
      return Unexpected(BadRequest("cannot bind token for serviceaccount \"" + scope.info.name +
                                   "\" to object of kind " + bound.kind));
    const auto resource = state.catalog.Find("", "v1", plural);
    const std::string space = bound.kind == "Node" ? "" : scope.info.namespace_name;
    const auto object = resource->cache->Get(ServedResource::CacheKey(space, bound.name));
    if (!object) return Unexpected(NotFound(*resource->kind, bound.name));
    bound.uid = object->uid();
    if (const auto wanted = reference["uid"].string_or(""); !wanted.empty() && wanted != bound.uid)
      return Unexpected(
          ConflictOf(bound.kind, bound.name,
                     "the UID in the bound object reference (" + std::string(wanted) +
                         ") does not match the UID in record. The object might have been deleted and then "
                         "recreated"));
    if (bound.kind == "Pod") {
      bound.node_name = object->ToValue()["spec"]["nodeName"].string_or("");
      if (const auto node = state.catalog.Find("", "v1", "nodes")->cache->Get(bound.node_name))
        bound.node_uid = node->uid();
    }
    return bound;
  }

  ServiceAccountTokens& tokens_;
};

}  // namespace

void AddTokenEndpoint(EndpointTable& table, ServiceAccountTokens& tokens) {
  table.Add("serviceaccounts/token", std::make_unique<TokenEndpoint>(tokens));
}

}  // namespace flyball::server
