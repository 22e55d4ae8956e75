// One call of one admission webhook: the review is sent, the answer checked, and what it means decided.
#pragma once

#include <optional>
#include <string>

#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/error.h"
#include "server/admission/match/admission_attributes.h"
#include "server/admission/webhooks/admission_review.h"
#include "server/admission/webhooks/webhook_metrics.h"
#include "server/admission/webhooks/webhook_source.h"
#include "server/webhook/webhook_caller.h"

namespace flyball::server {

// What the plugins are given. All outlive them.
struct WebhookNeeds {
  const Catalog& catalog;
  const Authorizer& authorizer;
  WebhookCaller& caller;
  Random& random;
  Metrics& metrics;
  const Clock& clock;
};

// The version of the resource in which the webhook is to be asked about the request: its rules, selectors and
// conditions match. Null: it is not. The objects are there in that version (AdmissionAttributes::In). An
// error refuses the request. All must live until it returns.
Task<Result<const ServedResource*>> ShouldCall(const AdmissionWebhook& webhook,
                                               AdmissionAttributes& attributes, RequestAuthorizer& authorizer,
                                               const MatchConditionMetrics& metrics);

// How a call ended.
struct WebhookVerdict {
  enum class Kind : std::uint8_t {
    kAllowed,
    kRejected,    // the webhook says no
    kCallFailed,  // it could not be asked, or its answer is none: the failure policy decides
    kInternal,    // this server cannot ask, or cannot do what the answer says
  };
  Kind kind = Kind::kAllowed;
  std::optional<Error> error{};   // unless it is allowed
  int code = 200;                 // for metrics
  std::string unlisted_reason{};  // see WebhookRejection
  WebhookAnswer answer{};

  static WebhookVerdict CallFailed(const std::string& webhook, const Error& why);
  static WebhookVerdict Internal(Error error) { return {Kind::kInternal, std::move(error), 0, {}, {}}; }
};

// A review that is ready to be sent. The webhook outlives it.
struct WebhookReview {
  const AdmissionWebhook* webhook = nullptr;
  bool mutating = false;
  std::string uid, text;
  std::optional<WebhookVerdict> known;  // it need not be sent
};
WebhookReview MakeReview(const AdmissionWebhook& webhook, bool mutating, AdmissionAttributes& attributes,
                         const ServedResource& matched, Random& random);
Task<WebhookVerdict> SendReview(const WebhookReview& review, WebhookCaller& caller, Executor& resume);

// What the verdict does besides: warnings, audit annotations, metrics. Then the error that ends the request,
// if one does; `failed_open_key` is the annotation that a failure was ignored.
std::optional<Error> Conclude(const WebhookVerdict& verdict, const AdmissionWebhook& webhook,
                              AdmissionAttributes& attributes, RequestScope& scope, Duration took,
                              const WebhookMetrics& metrics, const std::string& failed_open_key);

// Whether webhooks are asked about this request at all.
bool IsForWebhooks(const AdmissionRequest& request);

}  // namespace flyball::server
