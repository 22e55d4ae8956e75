#include "server/auth/remote/webhook_authorizer.h"

#include <functional>
#include <map>

#include "base/observe/log.h"
#include "json/json.h"
#include "server/auth/remote/expiring_cache.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

constexpr std::size_t kVerdictCacheSize = 8192;
// Attributes that clients choose the length of: longer ones are not kept (upstream:
// maxControlledAttrCacheSize).
constexpr std::size_t kMaxCachedAttributes = 10000;

const std::vector<double>& WebhookSeconds() {
  static const std::vector<double> kBuckets = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
  return kBuckets;
}

json::Value TextList(const std::vector<std::string>& texts) {
  return json::Array(texts.begin(), texts.end());
}

void SetIfGiven(json::Object& object, const char* name, const std::string& value) {
  if (!value.empty()) object.Set(name, value);
}

json::Value FieldRequirements(const std::vector<api::FieldTerm>& terms) {
  json::Array out;
  for (const auto& [field, value, equals] : terms)
    out.push_back(
        json::Object{{"key", field}, {"operator", equals ? "In" : "NotIn"}, {"values", json::Array{value}}});
  return out;
}

// Operators that reviews do not have are left out: the question is then about more than was asked for.
json::Value LabelRequirements(const std::string& text) {
  using Operator = api::LabelSelector::Operator;
  static const std::map<Operator, const char*> kNames = {{Operator::kEquals, "In"},
                                                         {Operator::kDoubleEquals, "In"},
                                                         {Operator::kIn, "In"},
                                                         {Operator::kNotEquals, "NotIn"},
                                                         {Operator::kNotIn, "NotIn"},
                                                         {Operator::kExists, "Exists"},
                                                         {Operator::kDoesNotExist, "DoesNotExist"}};
  json::Array out;
  const auto selector = api::LabelSelector::Parse(text);
  if (!selector) return out;
  for (const auto& requirement : selector->requirements()) {
    const auto name = kNames.find(requirement.op);
    if (name == kNames.end()) continue;
    json::Object one{{"key", requirement.key}, {"operator", name->second}};
    if (!requirement.values.empty()) one.Set("values", TextList(requirement.values));
    out.push_back(std::move(one));
  }
  return out;
}

void AddSelectors(const AuthorizationAttributes& a, json::Object& resource) {
  for (auto [name, requirements] : {std::pair("fieldSelector", FieldRequirements(a.field_terms)),
                                    std::pair("labelSelector", LabelRequirements(a.label_selector))})
    if (!requirements.empty()) resource.Set(name, json::Object{{"requirements", std::move(requirements)}});
}

// What match conditions see: every text, even if empty.
json::Value RequestForConditions(const AuthorizationAttributes& a) {
  json::Object extra;
  for (const auto& [name, values] : a.user->extra) extra.Set(name, TextList(values));
  json::Object request{{"user", a.user->name},
                       {"uid", a.user->uid},
                       {"groups", TextList(a.user->groups)},
                       {"extra", std::move(extra)}};
  if (!a.is_resource) {
    request.Set("nonResourceAttributes", json::Object{{"path", a.path}, {"verb", a.verb}});
    return request;
  }
  json::Object resource{{"namespace", a.namespace_name},
                        {"verb", a.verb},
                        {"group", a.group},
                        {"version", a.version},
                        {"resource", a.resource},
                        {"subresource", a.subresource},
                        {"name", a.name}};
  AddSelectors(a, resource);
  request.Set("resourceAttributes", std::move(resource));
  return request;
}

json::Value ResourceOf(const AuthorizationAttributes& a) {
  json::Object out;
  SetIfGiven(out, "namespace", a.namespace_name);
  SetIfGiven(out, "verb", a.verb);
  SetIfGiven(out, "group", a.group);
  SetIfGiven(out, "version", a.version);
  SetIfGiven(out, "resource", a.resource);
  SetIfGiven(out, "subresource", a.subresource);
  SetIfGiven(out, "name", a.name);
  AddSelectors(a, out);
  return out;
}

// The two versions differ in one name: "groups" was "group".
json::Value SpecOf(const AuthorizationAttributes& a, bool v1) {
  json::Object spec;
  if (a.is_resource) {
    spec.Set("resourceAttributes", ResourceOf(a));
  } else {
    json::Object path;
    SetIfGiven(path, "path", a.path);
    SetIfGiven(path, "verb", a.verb);
    spec.Set("nonResourceAttributes", std::move(path));
  }
  SetIfGiven(spec, "user", a.user->name);
  if (!a.user->groups.empty()) spec.Set(v1 ? "groups" : "group", TextList(a.user->groups));
  if (!a.user->extra.empty()) {
    json::Object extra;
    for (const auto& [name, values] : a.user->extra) extra.Set(name, TextList(values));
    spec.Set("extra", std::move(extra));
  }
  SetIfGiven(spec, "uid", a.user->uid);
  return spec;
}

bool MayCache(const AuthorizationAttributes& a) {
  return a.namespace_name.size() + a.verb.size() + a.group.size() + a.version.size() + a.resource.size() +
             a.subresource.size() + a.name.size() + a.path.size() <
         kMaxCachedAttributes;
}

class WebhookAuthorizer final : public Authorizer {
 public:
  WebhookAuthorizer(std::string name, const WebhookAuthorizerConfig& config,
                    std::vector<ConfigExpressionPtr> conditions, std::unique_ptr<WebhookClient> client,
                    const Clock& clock, Metrics& metrics)
      : name_(std::move(name)),
        config_(config),
        conditions_(std::move(conditions)),
        clock_(clock),
        client_(std::move(client)),
        metrics_(metrics),
        cache_(kVerdictCacheSize, clock) {}

  Task<Verdict> Authorize(const AuthorizationAttributes& attributes, Executor& resume) const override {
    if (!conditions_.empty()) {
      const auto matches = Matches(attributes);
      if (!matches) co_return Verdict{OnError(), "", InternalError(matches.error().message())};
      if (!*matches) co_return Verdict{};
    }
    const json::Value spec = SpecOf(attributes, config_.review_version == "v1");
    const std::string key = json::Write(spec);
    auto known = cache_.Get(key);
    if (known) co_return *known;
    const json::Value review = json::Object{{"kind", "SubjectAccessReview"},
                                            {"apiVersion", "authorization.k8s.io/" + config_.review_version},
                                            {"metadata", json::Object{}},
                                            {"spec", spec},
                                            {"status", json::Object{{"allowed", false}}}};
    const char* last_result = "error";
    const std::function<void(const WebhookAttempt&)> count = [&](const WebhookAttempt& attempt) {
      last_result = attempt.result;
      Count(attempt);
    };
    const auto answer = co_await client_->Review(review, resume, count);
    if (!answer) co_return OnFailure(answer.error(), last_result);
    const Verdict verdict = VerdictOf((*answer)["status"]);
    const bool allowed = (*answer)["status"]["allowed"].bool_or(false);
    const bool cached = allowed ? config_.cache_authorized : config_.cache_unauthorized;
    if (cached && MayCache(attributes))
      cache_.Put(key, verdict, allowed ? config_.authorized_ttl : config_.unauthorized_ttl);
    co_return verdict;
  }

  RuleLists RulesFor(const User&, std::string_view) const override {
    RuleLists lists;
    lists.incomplete = true;
    lists.evaluation_error = "webhook authorizer does not support user rule resolution";
    return lists;
  }

 private:
  // False: a condition says no. An error: none does, and not all could be evaluated.
  Result<bool> Matches(const AuthorizationAttributes& attributes) const {
    const SteadyTime began = clock_.Steady();
    const json::Value request = RequestForConditions(attributes);
    std::vector<std::string> problems;
    bool excluded = false;
    for (const auto& condition : conditions_) {
      const auto holds = condition->Holds(request);
      if (!holds) problems.push_back("cel evaluation error: " + holds.error().message());
      excluded = holds && !*holds;
      if (excluded) break;
    }
    CountConditions(clock_.Steady() - began, excluded, !problems.empty());
    if (excluded || problems.empty()) return !excluded;
    return Unexpected(InternalError(AggregateText(problems)));
  }

  void CountConditions(Duration took, bool excluded, bool failed) const {
    const MetricLabels labels{{"type", "Webhook"}, {"name", name_}};
    metrics_
        .GetHistogram("apiserver_authorization_match_condition_evaluation_seconds",
                      "Authorization match condition evaluation time in seconds, split by authorizer type "
                      "and name.",
                      {.001, .005, .01, .025, .1, .2, .25}, labels)
        .Observe(std::chrono::duration<double>(took).count());
    if (excluded)
      metrics_
          .GetCounter("apiserver_authorization_match_condition_exclusions_total",
                      "Total number of exclusions when an authorization webhook is skipped because match "
                      "conditions exclude it.",
                      labels)
          .Add();
    if (failed)
      metrics_
          .GetCounter("apiserver_authorization_match_condition_evaluation_errors_total",
                      "Total number of errors when an authorization webhook encounters a match condition "
                      "error split by authorizer type and name.",
                      labels)
          .Add();
  }

  Decision OnError() const {
    return config_.failure_policy == "NoOpinion" ? Decision::kNoOpinion : Decision::kDeny;
  }

  static Verdict VerdictOf(const json::Value& status) {
    const bool allowed = status["allowed"].bool_or(false), denied = status["denied"].bool_or(false);
    Verdict verdict{Decision::kNoOpinion, std::string(status["reason"].string_or(""))};
    if (allowed) verdict.decision = Decision::kAllow;
    if (denied) verdict.decision = Decision::kDeny;
    if (allowed && denied)
      verdict.error = InternalError("webhook subject access review returned both allow and deny response");
    return verdict;
  }

  Verdict OnFailure(const Error& error, const char* result) const {
    log::Error("Failed to make webhook authorizer request", {{"webhook", name_}, {"error", error.message()}});
    const Decision decision = OnError();
    if (decision == Decision::kNoOpinion && !error.Is(Reason::kCancelled))
      metrics_
          .GetCounter("apiserver_authorization_webhook_evaluations_fail_open_total",
                      "NoOpinion results due to webhook timeout or error.",
                      {{"name", name_}, {"result", result}})
          .Add();
    return {decision, "", InternalError("Internal error occurred: " + error.message())};
  }

  void Count(const WebhookAttempt& attempt) const {
    const MetricLabels labels{{"name", name_}, {"result", attempt.result}};
    metrics_
        .GetCounter("apiserver_authorization_webhook_evaluations_total",
                    "Round-trips to authorization webhooks.", labels)
        .Add();
    metrics_
        .GetHistogram("apiserver_authorization_webhook_duration_seconds", "Request latency in seconds.",
                      WebhookSeconds(), labels)
        .Observe(std::chrono::duration<double>(attempt.took).count());
  }

  const std::string name_;
  const WebhookAuthorizerConfig config_;
  const std::vector<ConfigExpressionPtr> conditions_;
  const Clock& clock_;
  const std::unique_ptr<WebhookClient> client_;
  Metrics& metrics_;
  mutable ExpiringCache<Verdict> cache_;
};

}  // namespace

Result<std::unique_ptr<Authorizer>> NewWebhookAuthorizer(const std::string& name,
                                                         const WebhookAuthorizerConfig& config,
                                                         WebhookContext context, Metrics& metrics) {
  if (config.review_version != "v1" && config.review_version != "v1beta1")
    return Unexpected(BadRequest("unsupported webhook authorizer version \"" + config.review_version +
                                 "\", supported versions are \"v1\", \"v1beta1\""));
  FLYBALL_ASSIGN(auto client, WebhookClient::Make(config.kubeconfig_file, config.timeout, context));
  api::FieldErrors errors;
  auto conditions = CompileMatchConditions(config, api::FieldPath(), errors);
  if (!errors.empty()) return Unexpected(BadRequest(AggregateText(errors)));
  return std::unique_ptr<Authorizer>(std::make_unique<WebhookAuthorizer>(
      name, config, std::move(conditions), std::move(client), context.executor.clock(), metrics));
}

}  // namespace flyball::server
