#include <set>

#include "json/json.h"
#include "json/patch.h"
#include "server/admission/webhooks/mutated_object.h"
#include "server/admission/webhooks/webhook_plugins.h"

namespace flyball::server {
namespace {

constexpr std::string_view kMutationPrefix = "mutation.webhook.admission.k8s.io/";

// What is kept from the first round to the second (upstream: webhookReinvokeContext).
struct MutatingRounds {
  json::Value last_output;       // of the first round
  std::set<std::string> called;  // may be called again, and nothing has changed since
  std::set<std::string> again;   // are to be called again

  void Changed() { again.merge(std::exchange(called, {})); }
};

// Which webhook in which round: "round_0_index_2".
std::string Position(bool reinvocation, std::size_t index) {
  return std::string("round_") + (reinvocation ? "1" : "0") + "_index_" + std::to_string(index);
}

json::Object AnnotationOf(const AdmissionWebhook& webhook) {
  return {{"configuration", webhook.configuration}, {"webhook", webhook.name}};
}

void NoteMutation(RequestScope& scope, const AdmissionWebhook& webhook, const std::string& position,
                  bool changed) {
  if (!scope.audited) return;
  json::Object value = AnnotationOf(webhook);
  value.Set("mutated", changed);
  scope.audit_annotations.emplace(std::string(kMutationPrefix) + position,
                                  json::Write(json::Value(std::move(value))));
}

void NotePatch(RequestScope& scope, const AdmissionWebhook& webhook, const std::string& position,
               const json::Value& patch) {
  if (!scope.audited) return;
  json::Object value = AnnotationOf(webhook);
  value.Set("patch", patch);
  value.Set("patchType", "JSONPatch");
  scope.audit_annotations.emplace(std::string(kPatchAnnotationPrefix) + position,
                                  json::Write(json::Value(std::move(value))));
}

class MutatingAdmissionWebhook final : public AdmissionPlugin {
 public:
  explicit MutatingAdmissionWebhook(const WebhookNeeds& needs)
      : needs_(needs),
        webhooks_(needs.catalog, "mutatingwebhookconfigurations"),
        metrics_(needs.metrics, "admit"),
        condition_metrics_(needs.metrics, "webhook", "admit") {}

  std::string_view name() const override { return "MutatingAdmissionWebhook"; }
  bool WantsAdmit(const AdmissionRequest& request) const override {
    return !webhooks_.Current()->empty() && IsForWebhooks(request);
  }
  bool WantsValidate(const AdmissionRequest&) const override { return false; }

  Task<Status> Admit(AdmissionRequest& request) override {
    const auto list = webhooks_.Current();
    auto& rounds = request.reinvocation.StateOf<MutatingRounds>(name());
    const bool again = request.reinvocation.is_reinvocation();
    if (again && rounds.called.empty() && rounds.again.empty()) co_return Status();
    if (again && request.object && rounds.last_output != *request.object) rounds.Changed();
    AdmissionAttributes attributes(request, needs_.catalog);
    RequestAuthorizer authorizer(needs_.authorizer, request.scope);
    for (std::size_t i = 0; i < list->size(); ++i) {
      const AdmissionWebhook& webhook = *(*list)[i];
      auto deciding = ShouldCall(webhook, attributes, authorizer, condition_metrics_);
      FLYBALL_CO_ASSIGN(const ServedResource* matched, co_await std::move(deciding));
      if (matched == nullptr || (again && !rounds.again.contains(webhook.uid))) continue;
      auto calling = CallOne(webhook, request, attributes, *matched, Position(again, i), rounds);
      FLYBALL_CO_TRY(co_await std::move(calling));
    }
    if (request.object && !rounds.called.empty()) rounds.last_output = *request.object;
    co_return Status();
  }

 private:
  Task<Status> CallOne(const AdmissionWebhook& webhook, AdmissionRequest& request,
                       AdmissionAttributes& attributes, const ServedResource& matched, std::string position,
                       MutatingRounds& rounds) {
    const SteadyTime began = needs_.clock.Steady();
    const WebhookReview review = MakeReview(webhook, true, attributes, matched, needs_.random);
    auto sending = SendReview(review, needs_.caller, request.scope.executor);
    WebhookVerdict verdict = co_await std::move(sending);
    bool changed = false;
    if (verdict.kind == WebhookVerdict::Kind::kAllowed && !verdict.answer.patch.is_null()) {
      auto patching = Patch(webhook, request, attributes, matched, verdict.answer.patch);
      auto patched = co_await std::move(patching);
      if (patched) {
        changed = *patched;
        NotePatch(request.scope, webhook, position, verdict.answer.patch);
      } else {
        verdict.kind = WebhookVerdict::Kind::kInternal;
        verdict.error = patched.error();
        verdict.code = 0;
      }
    }
    NoteMutation(request.scope, webhook, position, changed);
    if (changed) {
      rounds.Changed();
      request.reinvocation.Request();
    }
    if (webhook.reinvocable) rounds.called.insert(webhook.uid);
    const auto error = Conclude(verdict, webhook, attributes, request.scope, needs_.clock.Steady() - began,
                                metrics_, "failed-open." + std::string(kMutationPrefix) + position);
    if (error) co_return Unexpected(*error);
    co_return Status();
  }

  // The object after the patch, decoded and defaulted as if it had come from a client. Whether it has
  // changed.
  Task<Result<bool>> Patch(const AdmissionWebhook& webhook, AdmissionRequest& request,
                           AdmissionAttributes& attributes, const ServedResource& matched,
                           const json::Value& patch) {
    if (request.object == nullptr)
      co_return Unexpected(
          MutationFailed("admission webhook \"" + webhook.name +
                         "\" attempted to modify the object, which is not supported for this "
                         "operation"));
    const json::Value& before = *attributes.In(matched).object;
    auto patched = json::ApplyJsonPatch(before, patch);
    if (!patched) co_return Unexpected(MutationFailed(patched.error().message()));
    FLYBALL_CO_ASSIGN(json::Value decoded, DecodeMutated(attributes, matched, std::move(*patched)));
    const bool changed = decoded != before;
    auto returning = attributes.BackToRequest(matched, std::move(decoded));
    auto object = co_await std::move(returning);
    if (!object) co_return Unexpected(MutationFailed(object.error().message()));
    *request.object = std::move(*object);
    attributes.ObjectChanged();
    co_return changed;
  }

  const WebhookNeeds needs_;
  const AdmissionWebhooks webhooks_;
  const WebhookMetrics metrics_;
  const MatchConditionMetrics condition_metrics_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewMutatingAdmissionWebhook(const WebhookNeeds& needs) {
  return std::make_unique<MutatingAdmissionWebhook>(needs);
}

}  // namespace flyball::server
