#include "base/run/concurrently.h"
#include "server/admission/webhooks/webhook_plugins.h"

namespace flyball::server {
namespace {

constexpr char kValidatingFailedOpen[] = "failed-open.validating.webhook.admission.k8s.io/round_0_index_";

// A call under way, and how it ended. The webhook lives in the list.
struct ValidatingCall {
  WebhookReview review;
  WebhookVerdict verdict{};
  Duration took{};
};

class ValidatingAdmissionWebhook final : public AdmissionPlugin {
 public:
  explicit ValidatingAdmissionWebhook(const WebhookNeeds& needs)
      : needs_(needs),
        webhooks_(needs.catalog, "validatingwebhookconfigurations"),
        metrics_(needs.metrics, "validating"),
        condition_metrics_(needs.metrics, "webhook", "validate") {}

  std::string_view name() const override { return "ValidatingAdmissionWebhook"; }
  bool WantsAdmit(const AdmissionRequest&) const override { return false; }
  bool WantsValidate(const AdmissionRequest& request) const override {
    return !webhooks_.Current()->empty() && IsForWebhooks(request);
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const auto list = webhooks_.Current();
    AdmissionAttributes attributes(request, needs_.catalog);
    std::vector<ValidatingCall> calls;
    FLYBALL_CO_TRY(co_await Prepare(*list, attributes, calls));
    if (calls.empty()) co_return Status();
    FLYBALL_CO_TRY(request.scope.CheckAlive());
    FLYBALL_CO_TRY(co_await CallAll(calls, request.scope.executor));
    std::optional<Error> first;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const ValidatingCall& call = calls[i];
      const auto error = Conclude(call.verdict, *call.review.webhook, attributes, request.scope, call.took,
                                  metrics_, kValidatingFailedOpen + std::to_string(i));
      if (error && !first) first = error;
    }
    if (first) co_return Unexpected(*first);
    co_return Status();
  }

 private:
  Task<Status> Prepare(const WebhookList& list, AdmissionAttributes& attributes,
                       std::vector<ValidatingCall>& calls) {
    RequestAuthorizer authorizer(needs_.authorizer, attributes.request().scope);
    for (const auto& webhook : list) {
      auto deciding = ShouldCall(*webhook, attributes, authorizer, condition_metrics_);
      FLYBALL_CO_ASSIGN(const ServedResource* matched, co_await std::move(deciding));
      if (matched == nullptr) continue;
      calls.push_back({MakeReview(*webhook, false, attributes, *matched, needs_.random)});
    }
    co_return Status();
  }

  // All at the same time; every one is waited for.
  Task<Status> CallAll(std::vector<ValidatingCall>& calls, Executor& executor) {
    const auto call_one = [&](std::size_t i) -> Task<Status> {
      const SteadyTime began = needs_.clock.Steady();
      auto sending = SendReview(calls[i].review, needs_.caller, executor);
      calls[i].verdict = co_await std::move(sending);
      calls[i].took = needs_.clock.Steady() - began;
      co_return Status();
    };
    co_return co_await ForEachAtATime(executor, calls.size(), calls.size(), call_one);
  }

  const WebhookNeeds needs_;
  const AdmissionWebhooks webhooks_;
  const WebhookMetrics metrics_;
  const MatchConditionMetrics condition_metrics_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewValidatingAdmissionWebhook(const WebhookNeeds& needs) {
  return std::make_unique<ValidatingAdmissionWebhook>(needs);
}

}  // namespace flyball::server
