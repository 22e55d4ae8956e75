#include "server/admission/webhooks/webhook_call.h"

#include <algorithm>

#include "api/rules/format.h"
#include "api/values/go_text.h"
#include "base/observe/log.h"
#include "server/admission/webhooks/mutated_object.h"

namespace flyball::server {
namespace {

using Kind = WebhookVerdict::Kind;

// The whole review's request. Those of a deletecollection have no name (upstream makes one for all).
json::Value RequestOf(AdmissionAttributes& attributes, const ServedResource& matched,
                      const std::string& uid) {
  json::Value request = attributes.RequestValue(matched, matched);
  const auto objects = attributes.In(matched);
  request["uid"] = uid;
  request["object"] = objects.object ? *objects.object : json::Value();
  // Looking for a name that is not there leaves a null in its place; webhooks expect none.
  if (auto* metadata = request["object"].is_object() ? request["object"].Find("metadata") : nullptr;
      metadata != nullptr && metadata->is_object() && (*metadata)["name"].is_null())
    metadata->as_object().Erase("name");
  request["oldObject"] = objects.old_object ? *objects.old_object : json::Value();
  if (attributes.request().scope.info.verb == "deletecollection") request.as_object().Erase("name");
  return request;
}

// Audit annotations are "prefix/name", both well-formed; others are left out (upstream: checkKeyFormat).
bool IsAnnotationKey(const std::string& key) {
  return std::count(key.begin(), key.end(), '/') == 1 && api::QualifiedNameProblems(key).empty();
}

void Note(RequestScope& scope, const std::string& key, std::string value) {
  if (scope.audited && IsAnnotationKey(key)) scope.audit_annotations.emplace(key, std::move(value));
}

void AddAnswerNotes(const WebhookVerdict& verdict, const AdmissionWebhook& webhook, RequestScope& scope) {
  constexpr std::size_t kMostWarnings = 1000;
  for (const auto& warning : verdict.answer.warnings)
    if (scope.warnings.size() < kMostWarnings) scope.warnings.push_back(warning);
  for (const auto& [key, value] : verdict.answer.audit_annotations)
    Note(scope, webhook.name + "/" + key, value);
}

void Measure(const WebhookVerdict& verdict, const AdmissionWebhook& webhook, std::string_view operation,
             Duration took, const WebhookMetrics& metrics) {
  const bool ignored = verdict.kind == Kind::kCallFailed && webhook.failure_policy == FailurePolicy::kIgnore;
  const bool rejected = verdict.kind != Kind::kAllowed && !ignored;
  if (rejected)
    metrics.ObserveRejection(webhook.name, operation,
                             verdict.kind == Kind::kCallFailed ? "calling_webhook_error"
                             : verdict.kind == Kind::kRejected ? "no_error"
                                                               : "apiserver_internal_error",
                             verdict.code);
  metrics.ObserveCall(webhook.name, operation, took, rejected, verdict.code);
}

}  // namespace

WebhookVerdict WebhookVerdict::CallFailed(const std::string& webhook, const Error& why) {
  return {
      Kind::kCallFailed,
      Error(Reason::kInternalError, 500,
            "Internal error occurred: failed calling webhook " + api::GoQuote(webhook) + ": " + why.message(),
            {.causes = {{"", "failed calling webhook " + api::GoQuote(webhook) + ": " + why.message(), ""}}}),
      why.code(),
      {},
      {}};
}

namespace {

Error ConditionsFailed(const AdmissionAttributes& attributes, const std::string& why) {
  const auto& kind = *attributes.resource().kind;
  const std::string name(attributes.name());
  std::string text = kind.GroupResource() + (name.empty() ? "" : " " + api::GoQuote(name));
  return Error(Reason::kForbidden, 403, text + " is forbidden: " + why,
               {.name = name, .group = std::string(kind.group), .kind = std::string(kind.plural)});
}

Task<Result<bool>> ConditionsMatch(const AdmissionWebhook& webhook, AdmissionAttributes& attributes,
                                   const ServedResource& matched, RequestAuthorizer& authorizer,
                                   const MatchConditionMetrics& metrics) {
  if (webhook.conditions.empty()) co_return true;
  const Clock& clock = attributes.request().scope.executor.get().clock();
  const SteadyTime began = clock.Steady();
  auto evaluating =
      EvaluateMatchConditions(webhook.conditions, attributes, matched, authorizer, webhook.failure_policy);
  const MatchVerdict verdict = co_await std::move(evaluating);
  metrics.Observe(webhook.name, attributes.operation(),
                  std::chrono::duration<double>(clock.Steady() - began).count(), verdict);
  if (verdict.error) co_return Unexpected(ConditionsFailed(attributes, *verdict.error));
  if (!verdict.matches) metrics.ObserveExclusion(webhook.name, attributes.operation());
  co_return verdict.matches;
}

}  // namespace

Task<Result<const ServedResource*>> ShouldCall(const AdmissionWebhook& webhook,
                                               AdmissionAttributes& attributes, RequestAuthorizer& authorizer,
                                               const MatchConditionMetrics& metrics) {
  FLYBALL_CO_ASSIGN(const ServedResource* matched, webhook.match.Match(attributes));
  if (matched == nullptr) co_return matched;
  if (auto converted = co_await attributes.Convert(*matched); !converted)
    co_return Unexpected(MutationFailed(converted.error().message()));
  auto deciding = ConditionsMatch(webhook, attributes, *matched, authorizer, metrics);
  FLYBALL_CO_ASSIGN(const bool matches, co_await std::move(deciding));
  co_return matches ? matched : nullptr;
}

WebhookReview MakeReview(const AdmissionWebhook& webhook, bool mutating, AdmissionAttributes& attributes,
                         const ServedResource& matched, Random& random) {
  WebhookReview review{&webhook, mutating, random.Uuid(), "", std::nullopt};
  if (attributes.request().scope.dry_run && webhook.has_side_effects) {
    review.known = WebhookVerdict::Internal(
        BadRequest("admission webhook " + api::GoQuote(webhook.name) + " does not support dry run"));
  } else if (webhook.review_version.empty()) {
    review.known = WebhookVerdict::CallFailed(
        webhook.name, BadRequest("could not create admission objects: webhook does not accept known "
                                 "AdmissionReview versions (v1, v1beta1)"));
  } else {
    review.text = AdmissionReviewText(webhook.review_version, RequestOf(attributes, matched, review.uid));
  }
  return review;
}

Task<WebhookVerdict> SendReview(const WebhookReview& review, WebhookCaller& caller, Executor& resume) {
  if (review.known) co_return *review.known;
  const AdmissionWebhook& webhook = *review.webhook;
  const WebhookCaller::Limits limits{webhook.timeout, kMaxAdmissionAnswer};
  auto posting = caller.Post(webhook.target, review.text, limits, resume);
  const auto body = co_await std::move(posting);
  if (!body)
    co_return WebhookVerdict::CallFailed(webhook.name, body.error().Annotate("failed to call webhook"));
  auto answer = ReadAdmissionAnswer(*body, webhook.review_version, review.uid, review.mutating);
  if (!answer) co_return WebhookVerdict::CallFailed(webhook.name, answer.error());
  WebhookVerdict verdict;
  verdict.answer = std::move(*answer);
  if (verdict.answer.allowed) co_return verdict;
  verdict.kind = Kind::kRejected;
  verdict.error = WebhookRejection(webhook.name, verdict.answer.result, verdict.unlisted_reason);
  verdict.code = verdict.error->code();
  co_return verdict;
}

std::optional<Error> Conclude(const WebhookVerdict& verdict, const AdmissionWebhook& webhook,
                              AdmissionAttributes& attributes, RequestScope& scope, Duration took,
                              const WebhookMetrics& metrics, const std::string& failed_open_key) {
  AddAnswerNotes(verdict, webhook, scope);
  Measure(verdict, webhook, attributes.operation(), took, metrics);
  if (verdict.kind == Kind::kAllowed) return std::nullopt;
  if (verdict.kind == Kind::kCallFailed && webhook.failure_policy == FailurePolicy::kIgnore) {
    log::Warning("a webhook could not be called; its failure is ignored",
                 {{"webhook", webhook.name}, {"error", verdict.error->message()}});
    metrics.ObserveFailOpen(webhook.name);
    Note(scope, failed_open_key, webhook.name);
    // Nobody waits for the next one if the request's own time is up.
    if (auto alive = scope.CheckAlive(); !alive) return alive.error();
    return std::nullopt;
  }
  scope.unlisted_reason = verdict.unlisted_reason;
  return verdict.error;
}

bool IsForWebhooks(const AdmissionRequest& request) {
  return !IsExcludedReview(request.resource) && !IsAdmissionConfiguration(request.resource);
}

}  // namespace flyball::server
