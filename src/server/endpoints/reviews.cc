#include "server/endpoints/reviews.h"

#include "api/apply/managed_fields.h"
#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/schema/decode.h"
#include "api/values/time.h"
#include "json/json.h"
#include "server/registry/object_codec.h"
#include "server/registry/write_options.h"
#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

// A review is decided by one function from its body to its status.
using ReviewStatus = Task<Result<json::Value>> (*)(ServerState& state, const RequestScope& scope,
                                                   const json::Value& review);

// What stands beside the status: the question as it was sent, nothing of it, or the time of the answer alone.
enum class AnsweredWith { kQuestion, kNothing, kTime };

class ReviewEndpoint final : public Endpoint {
 public:
  explicit ReviewEndpoint(ReviewStatus decide, AnsweredWith form = AnsweredWith::kQuestion)
      : decide_(decide), form_(form) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), false));  // there is no table of a question
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    const auto& kind = *scope.resource->kind;
    FLYBALL_CO_ASSIGN(json::Value review, DecodeBody(scope, *kind.type, kind.ApiVersion(), kind.kind,
                                                     request.headers.Get("content-type"), request.body));
    if (kind.namespaced && review["metadata"]["namespace"].string_or("").empty())
      review["metadata"]["namespace"] = scope.info.namespace_name;
    FLYBALL_CO_ASSIGN(json::Value status, co_await decide_(state, scope, review));
    if (form_ == AnsweredWith::kQuestion) {
      const std::string manager = scope.Manager(), version = kind.ApiVersion();
      api::UpdateManagedFields(*kind.type, nullptr, review, {manager, "", version, scope.now});
    } else {
      const bool dated = form_ == AnsweredWith::kTime;
      json::Object answer{
          {"apiVersion", kind.ApiVersion()}, {"kind", kind.kind}, {"metadata", json::Object{}}};
      if (dated) answer["metadata"]["creationTimestamp"] = api::FormatTime(scope.now);
      if (!dated) answer.Set("spec", json::Object{});
      review = std::move(answer);
    }
    review["status"] = std::move(status);
    api::Canonicalize(*kind.type, review);
    co_return std::optional(Answer{201, "application/json", json::Write(review)});
  }

 private:
  const ReviewStatus decide_;
  const AnsweredWith form_;
};

User UserOf(const json::Value& spec) {
  User user;
  user.name = spec["user"].string_or("");
  user.uid = spec["uid"].string_or("");
  if (const auto& groups = spec["groups"]; groups.is_array())
    for (const auto& group : groups.as_array()) user.groups.emplace_back(group.string_or(""));
  if (const auto& extra = spec["extra"]; extra.is_object())
    for (const auto& [key, values] : extra.as_object())
      if (values.is_array())
        for (const auto& value : values.as_array()) user.extra[key].emplace_back(value.string_or(""));
  return user;
}

// Terms that are not understood limit nothing, so that nobody is allowed because of them.
std::vector<api::FieldTerm> ReviewedTerms(const json::Value& selector) {
  std::vector<api::FieldTerm> terms;
  if (const auto& requirements = selector["requirements"]; requirements.is_array())
    for (const auto& one : requirements.as_array()) {
      const auto op = one["operator"].string_or("");
      const auto& values = one["values"];
      if ((op == "In" || op == "NotIn") && values.is_array() && values.as_array().size() == 1)
        terms.push_back({std::string(one["key"].string_or("")),
                         std::string(values.as_array()[0].string_or("")), op == "In"});
    }
  if (!terms.empty()) return terms;
  return api::ParseFieldTerms(selector["rawSelector"].string_or("")).value_or(std::move(terms));
}

// As text; what cannot be read selects everything, so that more is asked for, not less.
std::string ReviewedLabels(const json::Value& selector) {
  if (selector["requirements"].empty()) return std::string(selector["rawSelector"].string_or(""));
  const auto read =
      api::LabelSelector::FromObject(json::Object{{"matchExpressions", selector["requirements"]}});
  return read ? read->ToString() : std::string();
}

AuthorizationAttributes ReviewedAttributes(const json::Value& spec, const User& user) {
  AuthorizationAttributes attributes;
  attributes.user = &user;
  if (const auto* resource = spec.Find("resourceAttributes"); resource && resource->is_object()) {
    attributes.verb = (*resource)["verb"].string_or("");
    attributes.namespace_name = (*resource)["namespace"].string_or("");
    attributes.group = (*resource)["group"].string_or("");
    attributes.version = (*resource)["version"].string_or("");
    attributes.resource = (*resource)["resource"].string_or("");
    attributes.subresource = (*resource)["subresource"].string_or("");
    attributes.name = (*resource)["name"].string_or("");
    attributes.field_terms = ReviewedTerms((*resource)["fieldSelector"]);
    attributes.label_selector = ReviewedLabels((*resource)["labelSelector"]);
    return attributes;
  }
  attributes.is_resource = false;
  attributes.verb = spec["nonResourceAttributes"]["verb"].string_or("");
  attributes.path = spec["nonResourceAttributes"]["path"].string_or("");
  return attributes;
}

json::Value ShownPath(const json::Value& spec) {
  return api::GoInternal("io.k8s.api.authorization.v1.NonResourceAttributes", spec["nonResourceAttributes"]);
}

// Operators that this server does not know are let through: newer clients may ask by them.
void CheckValues(const json::Value& requirement, const api::FieldPath& path, api::FieldErrors& errors) {
  const auto op = requirement["operator"].string_or("");
  const bool listed = !requirement["values"].empty();
  if ((op == "In" || op == "NotIn") && !listed)
    errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
  if ((op == "Exists" || op == "DoesNotExist") && listed)
    errors.Forbidden(path.Child("values"),
                     "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

void CheckFieldTerm(const json::Value& requirement, const api::FieldPath& path, api::FieldErrors& errors) {
  if (requirement["key"].string_or("").empty()) errors.Required(path.Child("key"), "must be specified");
  CheckValues(requirement, path, errors);
}

void CheckLabelTerm(const json::Value& requirement, const api::FieldPath& path, api::FieldErrors& errors) {
  CheckValues(requirement, path, errors);
  const auto key = requirement["key"].string_or("");
  for (const auto& problem : api::QualifiedNameProblems(key)) errors.Invalid(path.Child("key"), key, problem);
  const auto& values = requirement["values"];
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const auto& problem : api::LabelValueFormatProblems(values.as_array()[i].string_or("")))
      errors.Invalid(path.Child("values").Index(i), values.as_array()[i], problem);
}

// A selector is given as text or as requirements.
void CheckSelector(const json::Value& selector, const api::FieldPath& path,
                   void (*check)(const json::Value&, const api::FieldPath&, api::FieldErrors&),
                   api::FieldErrors& errors) {
  if (!selector.is_object()) return;
  const auto raw = selector["rawSelector"].string_or("");
  const auto& requirements = selector["requirements"];
  if (!raw.empty() && !requirements.empty())
    errors.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements");
  if (raw.empty() && requirements.empty())
    errors.Required(path.Child("requirements"),
                    "when " + path.text() + " is specified, requirements or rawSelector is required");
  for (std::size_t i = 0; i < requirements.size(); ++i)
    check(requirements.as_array()[i], path.Child("requirements").Index(i), errors);
}

// Exactly one of the two kinds of attributes, and (unless it is about oneself) somebody.
void CheckSpec(const json::Value& spec, bool about_self, api::FieldErrors& errors) {
  const bool has_resource = spec["resourceAttributes"].is_object();
  const bool has_path = spec["nonResourceAttributes"].is_object();
  const api::FieldPath path("spec");
  if (has_resource == has_path)
    errors.Invalid(path, has_path ? ShownPath(spec) : json::Value(),
                   "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  if (!about_self && spec["user"].string_or("").empty() && spec["groups"].empty())
    errors.Invalid(path.Child("user"), "", "at least one of user or group must be specified");
  const auto& resource = spec["resourceAttributes"];
  const api::FieldPath attributes = path.Child("resourceAttributes");
  CheckSelector(resource["fieldSelector"], attributes.Child("fieldSelector"), CheckFieldTerm, errors);
  CheckSelector(resource["labelSelector"], attributes.Child("labelSelector"), CheckLabelTerm, errors);
}

// A review has no metadata, but for the namespace of a local one.
void CheckMetadata(const json::Value& review, bool local, api::FieldErrors& errors) {
  json::Value metadata = review["metadata"];
  if (!metadata.is_object()) return;
  for (const char* member : {"managedFields", local ? "namespace" : ""}) metadata.as_object().Erase(member);
  if (metadata.empty()) return;
  errors.Invalid(api::FieldPath("metadata"), review["metadata"],
                 local ? "must be empty except for namespace" : "must be empty");
}

// Upstream names no kind in these.
Status Reviewable(const RequestScope& scope, const api::FieldErrors& errors) {
  if (errors.empty()) return {};
  return Unexpected(errors.ToError(scope.resource->kind->group, "", ""));
}

json::Value VerdictValue(const Verdict& verdict) {
  json::Object status{{"allowed", verdict.decision == Decision::kAllow}};
  if (verdict.decision == Decision::kDeny) status.Set("denied", true);
  if (!verdict.reason.empty()) status.Set("reason", verdict.reason);
  if (verdict.error) status.Set("evaluationError", verdict.error->message());
  return status;
}

Task<json::Value> VerdictOn(ServerState& state, const RequestScope& scope, const json::Value& spec,
                            const User& user) {
  const auto attributes = ReviewedAttributes(spec, user);
  co_return VerdictValue(co_await state.authorizer.Authorize(attributes, scope.executor));
}

Task<Result<json::Value>> SubjectAccess(ServerState& state, const RequestScope& scope,
                                        const json::Value& review) {
  api::FieldErrors errors;
  CheckSpec(review["spec"], false, errors);
  CheckMetadata(review, false, errors);
  FLYBALL_CO_TRY(Reviewable(scope, errors));
  const User user = UserOf(review["spec"]);
  co_return co_await VerdictOn(state, scope, review["spec"], user);
}

Task<Result<json::Value>> LocalSubjectAccess(ServerState& state, const RequestScope& scope,
                                             const json::Value& review) {
  const auto& spec = review["spec"];
  api::FieldErrors errors;
  CheckSpec(spec, false, errors);
  CheckMetadata(review, true, errors);
  const auto space = spec["resourceAttributes"]["namespace"].string_or("");
  if (spec["resourceAttributes"].is_object() && space != scope.info.namespace_name)
    errors.Invalid(api::FieldPath("spec.resourceAttributes.namespace"), space,
                   "must match metadata.namespace");
  if (spec["nonResourceAttributes"].is_object())
    errors.Invalid(api::FieldPath("spec.nonResourceAttributes"), ShownPath(spec),
                   "disallowed on this kind of request");
  FLYBALL_CO_TRY(Reviewable(scope, errors));
  const User user = UserOf(spec);
  co_return co_await VerdictOn(state, scope, spec, user);
}

Task<Result<json::Value>> SelfAccess(ServerState& state, const RequestScope& scope,
                                     const json::Value& review) {
  api::FieldErrors errors;
  CheckSpec(review["spec"], true, errors);
  CheckMetadata(review, false, errors);
  FLYBALL_CO_TRY(Reviewable(scope, errors));
  co_return co_await VerdictOn(state, scope, review["spec"], scope.user);
}

Task<Result<json::Value>> SelfRules(ServerState& state, const RequestScope& scope,
                                    const json::Value& review) {
  const auto space = review["spec"]["namespace"].string_or("");
  if (space.empty()) co_return Unexpected(BadRequest("no namespace on request"));
  auto lists = state.authorizer.RulesFor(scope.user, space);
  json::Object status{{"resourceRules", std::move(lists.resource_rules)},
                      {"nonResourceRules", std::move(lists.non_resource_rules)},
                      {"incomplete", lists.incomplete}};
  if (!lists.evaluation_error.empty()) status.Set("evaluationError", lists.evaluation_error);
  co_return json::Value(std::move(status));
}

json::Value ReviewUser(const User& user) {
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out.Set("uid", user.uid);
  out.Set("groups", json::Array(user.groups.begin(), user.groups.end()));
  if (!user.extra.empty()) {
    json::Object extra;
    for (const auto& [key, values] : user.extra) extra.Set(key, json::Array(values.begin(), values.end()));
    out.Set("extra", std::move(extra));
  }
  return out;
}

Task<Result<json::Value>> SelfReview(ServerState&, const RequestScope& scope, const json::Value&) {
  co_return json::Value(json::Object{{"userInfo", ReviewUser(scope.user)}});
}

Task<Result<json::Value>> TokenReview(ServerState& state, const RequestScope& scope,
                                      const json::Value& review) {
  const auto token = review["spec"]["token"].string_or("");
  if (token.empty()) co_return Unexpected(BadRequest("token is required for TokenReview in authentication"));
  std::vector<std::string> audiences;
  if (const auto& list = review["spec"]["audiences"]; list.is_array())
    for (const auto& audience : list.as_array()) audiences.emplace_back(audience.string_or(""));
  const auto identity = co_await state.authenticator.AuthenticateToken(token, audiences, scope.executor);
  if (!identity)
    co_return json::Value(json::Object{{"user", json::Object{}}, {"error", identity.error().message()}});
  if (!*identity)
    co_return json::Value(json::Object{{"user", json::Object{}}, {"error", "invalid bearer token"}});
  json::Object status{{"authenticated", true}, {"user", ReviewUser((*identity)->user)}};
  if (const auto& known = (*identity)->audiences; !known.empty())
    status.Set("audiences", json::Array(known.begin(), known.end()));
  co_return json::Value(std::move(status));
}

}  // namespace

void AddReviewEndpoints(EndpointTable& table) {
  const auto add = [&](const char* key, ReviewStatus decide) {
    table.Add(key, std::make_unique<ReviewEndpoint>(decide));
  };
  add("subjectaccessreviews.authorization.k8s.io", &SubjectAccess);
  add("localsubjectaccessreviews.authorization.k8s.io", &LocalSubjectAccess);
  add("selfsubjectaccessreviews.authorization.k8s.io", &SelfAccess);
  table.Add("selfsubjectrulesreviews.authorization.k8s.io",
            std::make_unique<ReviewEndpoint>(&SelfRules, AnsweredWith::kNothing));
  table.Add("selfsubjectreviews.authentication.k8s.io",
            std::make_unique<ReviewEndpoint>(&SelfReview, AnsweredWith::kTime));
  add("tokenreviews.authentication.k8s.io", &TokenReview);
}

}  // namespace flyball::server
