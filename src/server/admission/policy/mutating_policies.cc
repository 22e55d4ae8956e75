#include "server/admission/policy/mutating_policies.h"

#include <set>

#include "api/apply/apply_type.h"
#include "server/admission/policy/mutation.h"
#include "server/admission/policy/policy_inputs.h"
#include "server/admission/policy/policy_invocations.h"
#include "server/admission/policy/policy_metrics.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

// Which policies run again when the chain does (upstream: policyReinvokeContext).
struct PolicyReinvocation {
  std::set<std::string> invoked, again;  // by policy, binding and param
  json::Value last_output;

  void RequireAgain() {
    again.merge(invoked);
    invoked.clear();
  }
};

std::string InvocationKey(const PolicyInvocation& invocation) {
  const auto& metadata = invocation.param["metadata"];
  return invocation.policy->name + '\0' + invocation.binding->name + '\0' +
         std::string(metadata["namespace"].string_or("")) + '\0' +
         std::string(metadata["name"].string_or(""));
}

// An error that ends the request whatever the policy says about failures: the object itself is broken.
bool EndsRequest(const Error& error) {
  return !error.Is(Reason::kUnknown);
}

Error UnknownKind(const GroupVersionKind& kind) {
  return Error(Reason::kServiceUnavailable,
               "Resource kind " + std::string(kind.group) + "/" + std::string(kind.version) +
                   ", Kind=" + std::string(kind.kind) +
                   " not found. There can be a delay between when CustomResourceDefinitions are created and "
                   "when they are available.");
}

// What went wrong with the policies of a request.
class PolicyErrors {
 public:
  void Add(const PolicyMisconfiguration& wrong) { Add(*wrong.policy, wrong.binding, wrong.message, ""); }
  void Add(const CompiledPolicy& policy, const PolicyBinding* binding, std::string_view message,
           std::string_view reason) {
    if (policy.failure_policy == FailurePolicy::kIgnore) return;
    std::string text = binding ? "policy '" + policy.name + "' with binding '" + binding->name + "'"
                               : "policy \"" + policy.name + "\"";
    text += " denied request: " + std::string(message);
    if (causes_.empty()) reason_ = reason;
    causes_.push_back({"", std::move(text), ""});
  }
  // The first one's message and reason, the others as causes; the code is Forbidden's in any case.
  Status ToStatus(const AdmissionRequest& request) const {
    if (causes_.empty()) return {};
    const Error forbidden = AdmissionForbidden(request, "admission request denied by policy");
    auto details = forbidden.details();
    details.causes = causes_;
    const Reason reason = reason_.empty() ? Reason::kForbidden : ReasonFromName(reason_);
    return Unexpected(Error(reason, forbidden.code(), causes_[0].message, std::move(details)));
  }

 private:
  std::vector<Cause> causes_;
  std::string reason_;
};

class MutatingPolicies final : public AdmissionPlugin {
 public:
  MutatingPolicies(const Catalog& catalog, const Authorizer& authorizer, Metrics& metrics)
      : catalog_(catalog),
        authorizer_(authorizer),
        source_(catalog, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
        metrics_(metrics, PolicyMetrics::Kind::kMutating),
        condition_metrics_(metrics, "policy", "validate") {}
  std::string_view name() const override { return "MutatingAdmissionPolicy"; }
  bool WantsValidate(const AdmissionRequest&) const override { return false; }
  bool WantsAdmit(const AdmissionRequest& request) const override {
    return request.operation != AdmissionRequest::Operation::kDelete && !source_.Hooks()->empty() &&
           !IsExemptFromPolicies(request.resource);
  }

  Task<Status> Admit(AdmissionRequest& request) override {
    const auto hooks = source_.Hooks();
    AdmissionAttributes attributes(request, catalog_);
    auto finding = FindInvocations(*hooks, attributes, catalog_);
    const PolicyInvocations found = co_await std::move(finding);
    PolicyErrors errors;
    for (const auto& wrong : found.misconfigured) errors.Add(wrong);
    if (!found.invocations.empty()) {
      auto status = co_await InvokeAll(request, attributes, found.invocations, errors);
      if (!status) co_return status;
    }
    co_return errors.ToStatus(request);
  }

 private:
  Task<Status> InvokeAll(AdmissionRequest& request, AdmissionAttributes& attributes,
                         const std::vector<PolicyInvocation>& invocations, PolicyErrors& errors) const {
    auto& again = request.reinvocation.StateOf<PolicyReinvocation>(name());
    if (request.object && !attributes.HasOwnBody()) {
      CanonicalizeObject(request.resource, *request.object);
      attributes.ObjectChanged();
    }
    if (request.reinvocation.is_reinvocation() && request.object && again.last_output != *request.object)
      again.RequireAgain();
    RequestAuthorizer authorizer(authorizer_, request.scope);
    for (const PolicyInvocation& invocation : invocations) {
      auto status = co_await Invoke(request, attributes, invocation, authorizer, errors);
      if (!status) co_return status;
    }
    if (request.object) again.last_output = *request.object;
    co_return Status();
  }

  // An error is one that ends the request; others go to `errors`.
  Task<Status> Invoke(AdmissionRequest& request, AdmissionAttributes& attributes,
                      const PolicyInvocation& invocation, RequestAuthorizer& authorizer,
                      PolicyErrors& errors) const {
    auto& again = request.reinvocation.StateOf<PolicyReinvocation>(name());
    FLYBALL_CO_TRY(co_await attributes.Convert(*invocation.matched));
    FLYBALL_CO_ASSIGN(auto inputs, PolicyRequestInputs::Make(attributes, *invocation.matched,
                                                             invocation.param, authorizer));
    const MatchVerdict match = co_await MatchesConditions(attributes, invocation, inputs, authorizer);
    if (match.error) errors.Add(*invocation.policy, invocation.binding, *match.error, "Invalid");
    if (match.error || !match.matches) co_return Status();
    const std::string key = InvocationKey(invocation);
    if (request.reinvocation.is_reinvocation() && !again.again.contains(key)) co_return Status();
    if (request.object) {
      auto changed = co_await MutateObject(request, attributes, invocation, inputs, authorizer, errors);
      if (!changed) co_return Unexpected(changed.error());
      if (*changed) {
        again.RequireAgain();
        request.reinvocation.Request();
      }
    }
    if (invocation.policy->reinvoked_if_needed) again.invoked.insert(key);
    co_return Status();
  }

  Task<MatchVerdict> MatchesConditions(const AdmissionAttributes& attributes,
                                       const PolicyInvocation& invocation, const PolicyRequestInputs& inputs,
                                       RequestAuthorizer& authorizer) const {
    const CompiledPolicy& policy = *invocation.policy;
    if (policy.conditions.empty()) co_return MatchVerdict{};
    const Clock& clock = attributes.request().scope.executor.get().clock();
    const TimePoint start = clock.Now();
    for (;;) {
      MatchVerdict match =
          policy.conditions.Evaluate(inputs.inputs().conditions, policy.variables, policy.failure_policy);
      if (authorizer.HasQuestions()) {
        co_await authorizer.Ask();
        continue;
      }
      condition_metrics_.Observe(policy.name, attributes.operation(),
                                 std::chrono::duration<double>(clock.Now() - start).count(), match);
      co_return match;
    }
  }

  // All mutations of an invocation, one after the other. Whether the object is another one then.
  Task<Result<bool>> MutateObject(AdmissionRequest& request, AdmissionAttributes& attributes,
                                  const PolicyInvocation& invocation, PolicyRequestInputs& inputs,
                                  RequestAuthorizer& authorizer, PolicyErrors& errors) const {
    const ServedResource& version = *invocation.matched;
    const json::Value before = *attributes.In(version).object;
    json::Value object = before;
    for (const auto& mutation : invocation.policy->mutations) {
      inputs.SetObject(object);
      auto mutated = co_await MutateOnce(attributes, invocation, mutation, inputs, authorizer, object);
      if (mutated) {
        object = std::move(*mutated);
      } else if (EndsRequest(mutated.error())) {
        co_return Unexpected(mutated.error());
      } else {
        errors.Add(*invocation.policy, invocation.binding, mutated.error().message(), "Invalid");
      }
    }
    if (object == before) co_return false;
    auto returning = attributes.BackToRequest(version, std::move(object));
    FLYBALL_CO_ASSIGN(*request.object, co_await std::move(returning));
    attributes.ObjectChanged();
    co_return true;
  }

  Task<Result<json::Value>> MutateOnce(const AdmissionAttributes& attributes,
                                       const PolicyInvocation& invocation,
                                       const CompiledPolicy::Mutation& mutation,
                                       const PolicyRequestInputs& inputs, RequestAuthorizer& authorizer,
                                       const json::Value& object) const {
    const Clock& clock = attributes.request().scope.executor.get().clock();
    const TimePoint start = clock.Now();
    const api::TypeInfo* type = attributes.TypeIn(*invocation.matched);
    if (!type) co_return Unexpected(UnknownKind(attributes.KindIn(*invocation.matched)));
    for (;;) {
      auto mutated =
          Mutate(mutation, invocation.policy->variables, inputs.inputs().expressions, *type, object);
      if (authorizer.HasQuestions()) {
        co_await authorizer.Ask();
        continue;
      }
      if (mutated)
        mutated = attributes.HasOwnBody() ? DecodePatchedBody(*type, std::move(*mutated))
                                          : DecodePatched(*invocation.matched, std::move(*mutated));
      const double seconds = std::chrono::duration<double>(clock.Now() - start).count();
      metrics_.Observe(invocation.policy->name, invocation.binding->name,
                       PolicyErrorType(!mutated, mutated ? "" : mutated.error().message()), "", seconds);
      co_return mutated;
    }
  }

  const Catalog& catalog_;
  const Authorizer& authorizer_;
  PolicySource source_;
  PolicyMetrics metrics_;
  MatchConditionMetrics condition_metrics_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewMutatingPolicies(const Catalog& catalog, const Authorizer& authorizer,
                                                     Metrics& metrics) {
  return std::make_unique<MutatingPolicies>(catalog, authorizer, metrics);
}

}  // namespace flyball::server
