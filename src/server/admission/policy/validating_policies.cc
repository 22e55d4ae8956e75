#include "server/admission/policy/validating_policies.h"

#include <algorithm>
#include <map>

#include "json/json.h"
#include "server/admission/policy/policy_inputs.h"
#include "server/admission/policy/policy_invocations.h"
#include "server/admission/policy/policy_metrics.h"
#include "server/admission/policy/validation.h"

namespace flyball::server {
namespace {

// As many failures are noted in the audit log; about 10 KB.
constexpr std::size_t kMaxNotedFailures = 50;
constexpr const char* kFailuresKey = "validation.policy.admission.k8s.io/validation_failure";

// What has been decided about a request so far.
class PolicyDecisions {
 public:
  PolicyDecisions(const AdmissionRequest& request, const PolicyMetrics& metrics)
      : request_(request), metrics_(metrics) {}

  void Add(const PolicyMisconfiguration& wrong) {
    if (wrong.policy->failure_policy == FailurePolicy::kIgnore) return;
    Deny(*wrong.policy, wrong.binding, {.denies = true, .message = wrong.message});
  }
  void Add(const PolicyInvocation& invocation, const PolicyVerdict& verdict);
  // Notes what goes to the audit log; Forbidden, or what the first denial's reason says.
  Status Finish();

 private:
  void Enforce(const PolicyInvocation& invocation, const PolicyDecision& decision, std::size_t index);
  void Deny(const CompiledPolicy& policy, const PolicyBinding* binding, const PolicyDecision& decision);
  void Observe(const PolicyInvocation& invocation, const PolicyDecision& decision, std::string_view action) {
    metrics_.Observe(invocation.policy->name, invocation.binding->name,
                     PolicyErrorType(decision.denies || decision.failed, decision.message), action,
                     decision.seconds);
  }
  void Note(const PolicyInvocation& invocation, const PolicyDecision& decision, std::size_t index);
  void Annotate(const PolicyInvocation& invocation, const PolicyAnnotation& annotation);

  const AdmissionRequest& request_;
  const PolicyMetrics& metrics_;
  json::Array failures_;
  std::map<std::string, std::vector<std::string>> annotations_;
  std::string denial_, denial_reason_;
};

void PolicyDecisions::Add(const PolicyInvocation& invocation, const PolicyVerdict& verdict) {
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    const PolicyDecision& decision = verdict.decisions[i];
    if (decision.denies)
      Enforce(invocation, decision, i);
    else if (decision.failed)
      Observe(invocation, decision, "allow");
  }
  for (const PolicyAnnotation& annotation : verdict.annotations) Annotate(invocation, annotation);
}

void PolicyDecisions::Enforce(const PolicyInvocation& invocation, const PolicyDecision& decision,
                              std::size_t index) {
  for (const std::string& action : invocation.binding->actions) {
    if (action == "Deny") {
      Deny(*invocation.policy, invocation.binding, decision);
      Observe(invocation, decision, "deny");
    } else if (action == "Audit") {
      Note(invocation, decision, index);
      Observe(invocation, decision, "audit");
    } else if (action == "Warn") {
      request_.scope.warnings.push_back("Validation failed for ValidatingAdmissionPolicy '" +
                                        invocation.policy->name + "' with binding '" +
                                        invocation.binding->name + "': " + decision.message);
      Observe(invocation, decision, "warn");
    }
  }
}

void PolicyDecisions::Deny(const CompiledPolicy& policy, const PolicyBinding* binding,
                           const PolicyDecision& decision) {
  if (!denial_.empty()) return;
  denial_ = "ValidatingAdmissionPolicy '" + policy.name + "'" +
            (binding ? " with binding '" + binding->name + "'" : "") + " denied request: " + decision.message;
  denial_reason_ = decision.reason.empty() ? "Invalid" : decision.reason;
}

void PolicyDecisions::Note(const PolicyInvocation& invocation, const PolicyDecision& decision,
                           std::size_t index) {
  if (failures_.size() >= kMaxNotedFailures) return;
  json::Object failure;
  failure.Set("message", decision.message);
  failure.Set("policy", invocation.binding->policy_name);
  failure.Set("binding", invocation.binding->name);
  failure.Set("expressionIndex", static_cast<std::int64_t>(index));
  json::Array actions;
  for (const auto& action : invocation.binding->actions) actions.push_back(action);
  failure.Set("validationActions", std::move(actions));
  failures_.push_back(std::move(failure));
}

void PolicyDecisions::Annotate(const PolicyInvocation& invocation, const PolicyAnnotation& annotation) {
  if (!annotation.error.empty()) {
    const PolicyDecision failed{.denies = true, .failed = true, .message = annotation.error};
    Deny(*invocation.policy, invocation.binding, failed);
    return Observe(invocation, failed, "deny");
  }
  if (annotation.value.empty()) return;
  auto& values = annotations_[invocation.policy->name + "/" + annotation.key];
  if (std::find(values.begin(), values.end(), annotation.value) == values.end())
    values.push_back(annotation.value);
}

Reason DenialReason(std::string_view name) {
  const Reason reason = ReasonFromName(name);
  return reason == Reason::kUnknown ? Reason::kInvalid : reason;
}

Status PolicyDecisions::Finish() {
  for (const auto& [key, values] : annotations_) {
    std::string joined;
    for (const auto& value : values) joined += (joined.empty() ? "" : ", ") + value;
    request_.scope.audit_annotations[key] = std::move(joined);
  }
  if (!failures_.empty()) request_.scope.audit_annotations[kFailuresKey] = json::Write(std::move(failures_));
  if (denial_.empty()) return {};
  const Error forbidden = AdmissionForbidden(request_, denial_);
  const Reason reason = DenialReason(denial_reason_);
  auto details = forbidden.details();
  details.causes.push_back({"", denial_, ""});
  return Unexpected(Error(reason, CodeOf(reason), std::string(forbidden.message()), std::move(details)));
}

class ValidatingPolicies final : public AdmissionPlugin {
 public:
  ValidatingPolicies(const Catalog& catalog, const Authorizer& authorizer, Metrics& metrics)
      : catalog_(catalog),
        authorizer_(authorizer),
        source_(catalog, "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        metrics_(metrics, PolicyMetrics::Kind::kValidating),
        condition_metrics_(metrics, "policy", "validate") {}
  std::string_view name() const override { return "ValidatingAdmissionPolicy"; }
  bool WantsAdmit(const AdmissionRequest&) const override { return false; }
  bool WantsValidate(const AdmissionRequest& request) const override {
    return !source_.Hooks()->empty() && !IsExemptFromPolicies(request.resource);
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const auto hooks = source_.Hooks();
    AdmissionAttributes attributes(request, catalog_);
    RequestAuthorizer authorizer(authorizer_, request.scope);
    PolicyDecisions decisions(request, metrics_);
    auto finding = FindInvocations(*hooks, attributes, catalog_);
    const PolicyInvocations found = co_await std::move(finding);
    for (const auto& wrong : found.misconfigured) decisions.Add(wrong);
    for (const auto& invocation : found.invocations) {
      auto verdict = co_await Evaluate(invocation, attributes, authorizer);
      if (!verdict) co_return Unexpected(verdict.error());
      decisions.Add(invocation, *verdict);
    }
    co_return decisions.Finish();
  }

 private:
  Task<Result<PolicyVerdict>> Evaluate(const PolicyInvocation& invocation, AdmissionAttributes& attributes,
                                       RequestAuthorizer& authorizer) const {
    FLYBALL_CO_TRY(co_await attributes.Convert(*invocation.matched));
    FLYBALL_CO_ASSIGN(const auto inputs, PolicyRequestInputs::Make(attributes, *invocation.matched,
                                                                   invocation.param, authorizer));
    const Clock& clock = attributes.request().scope.executor.get().clock();
    for (;;) {
      MatchVerdict match;
      const TimePoint start = clock.Now();
      PolicyVerdict verdict = EvaluatePolicy(*invocation.policy, inputs.inputs(), clock, &match);
      if (authorizer.HasQuestions()) {
        co_await authorizer.Ask();
        continue;
      }
      if (!invocation.policy->conditions.empty())
        condition_metrics_.Observe(invocation.policy->name, attributes.operation(),
                                   std::chrono::duration<double>(clock.Now() - start).count(), match);
      co_return verdict;
    }
  }

  const Catalog& catalog_;
  const Authorizer& authorizer_;
  PolicySource source_;
  PolicyMetrics metrics_;
  MatchConditionMetrics condition_metrics_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewValidatingPolicies(const Catalog& catalog, const Authorizer& authorizer,
                                                       Metrics& metrics) {
  return std::make_unique<ValidatingPolicies>(catalog, authorizer, metrics);
}

}  // namespace flyball::server
