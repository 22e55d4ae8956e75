#include "server/admission/policy/validation.h"

#include "base/values/ascii.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxMessageBytes = 5 * 1024;
constexpr std::size_t kMaxAnnotationBytes = 10 * 1024;

double SecondsSince(const Clock& clock, TimePoint start) {
  return std::chrono::duration<double>(clock.Now() - start).count();
}

PolicyDecision FailedDecision(const CompiledPolicy& policy, std::string message) {
  return {
      .denies = policy.failure_policy == FailurePolicy::kFail, .failed = true, .message = std::move(message)};
}

// The text of a messageExpression; "" if it gives none that can be shown.
std::string UsableMessage(const cel::PolicyResult& result) {
  if (!result.ok() || !result.value.Is(cel::ValueKind::kString)) return {};
  const std::string_view text = Trimmed(result.value.text());
  if (text.size() > kMaxMessageBytes || text.find('\n') != std::string_view::npos) return {};
  return std::string(text);
}

// The messages of all validations that have an expression for it. False if the budget did not last.
bool EvaluateMessages(const CompiledPolicy& policy, cel::PolicyInputs inputs, std::int64_t budget,
                      std::vector<std::string>& messages, std::string& error) {
  inputs.authorizer = nullptr;
  cel::PolicyEvaluation evaluation(inputs, policy.variables, budget);
  for (std::size_t i = 0; i < policy.validations.size(); ++i) {
    const auto& expression = policy.validations[i].message_expression;
    if (!expression) continue;
    const cel::PolicyResult result = evaluation.Evaluate(*expression);
    if (result.kind == cel::PolicyResult::Kind::kExhausted) {
      error = "failed messageExpression: " + result.error;
      return false;
    }
    messages[i] = UsableMessage(result);
  }
  return true;
}

std::string DenialMessage(const CompiledPolicy::Validation& validation, std::string from_expression) {
  if (!from_expression.empty()) return from_expression;
  if (!validation.message.empty()) return std::string(Trimmed(validation.message));
  return "failed expression: " + std::string(Trimmed(validation.expression.text));
}

// One outcome of each validation: its decision, as far as it is known without messages.
struct Outcome {
  PolicyDecision decision;
  bool holds = false;
};

bool EvaluateAll(const CompiledPolicy& policy, cel::PolicyEvaluation& evaluation, const Clock& clock,
                 std::vector<Outcome>& outcomes, std::string& error) {
  for (const auto& validation : policy.validations) {
    const TimePoint start = clock.Now();
    const cel::PolicyResult result = evaluation.Evaluate(validation.expression);
    if (result.kind == cel::PolicyResult::Kind::kExhausted) {
      error = result.error;
      return false;
    }
    Outcome& outcome = outcomes.emplace_back();
    if (!result.ok()) outcome.decision = FailedDecision(policy, result.error);
    outcome.holds = result.ok() && result.value.IsTrue();
    outcome.decision.seconds = SecondsSince(clock, start);
  }
  return true;
}

// False if the budget did not last for the validations.
bool DecideAll(const CompiledPolicy& policy, const cel::PolicyInputs& inputs, const Clock& clock,
               std::vector<PolicyDecision>& decisions, std::string& error) {
  cel::PolicyEvaluation evaluation(inputs, policy.variables, cel::kPolicyCostBudget);
  std::vector<Outcome> outcomes;
  if (!EvaluateAll(policy, evaluation, clock, outcomes, error)) return false;
  std::vector<std::string> messages(policy.validations.size());
  const bool told = EvaluateMessages(policy, inputs, evaluation.budget(), messages, error);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Outcome& outcome = outcomes[i];
    const auto& validation = policy.validations[i];
    if (!outcome.decision.failed && !told) {
      const double seconds = outcome.decision.seconds;
      outcome.decision = FailedDecision(policy, error);
      outcome.decision.seconds = seconds;
    } else if (!outcome.decision.failed && !outcome.holds) {
      outcome.decision.denies = true;
      outcome.decision.reason = validation.reason.empty() ? "Invalid" : validation.reason;
      outcome.decision.message = DenialMessage(validation, std::move(messages[i]));
    }
    decisions.push_back(std::move(outcome.decision));
  }
  return true;
}

// A failed annotation denies the request unless failures are ignored.
PolicyAnnotation FailedAnnotation(const CompiledPolicy& policy, const std::string& key, std::string error) {
  if (policy.failure_policy == FailurePolicy::kIgnore) return {key, "", ""};
  return {key, "", std::move(error)};
}

// False if the budget did not last.
bool Annotate(const CompiledPolicy& policy, cel::PolicyInputs inputs,
              std::vector<PolicyAnnotation>& annotations, std::string& error) {
  inputs.authorizer = nullptr;
  cel::PolicyEvaluation evaluation(inputs, policy.variables, cel::kPolicyCostBudget);
  for (const auto& annotation : policy.audit_annotations) {
    const cel::PolicyResult result = evaluation.Evaluate(annotation.value);
    if (result.kind == cel::PolicyResult::Kind::kExhausted) {
      error = result.error;
      return false;
    }
    if (!result.ok()) {
      annotations.push_back(FailedAnnotation(policy, annotation.key, result.error));
    } else if (result.value.Is(cel::ValueKind::kString)) {
      annotations.push_back(
          {annotation.key, std::string(Trimmed(result.value.text()).substr(0, kMaxAnnotationBytes)), ""});
    }
  }
  return true;
}

}  // namespace

PolicyVerdict EvaluatePolicy(const CompiledPolicy& policy, const PolicyEvaluationInputs& inputs,
                             const Clock& clock, MatchVerdict* match) {
  if (!policy.conditions.empty()) {
    *match = policy.conditions.Evaluate(inputs.conditions, policy.variables, policy.failure_policy);
    if (match->error) return {{FailedDecision(policy, *match->error)}, {}};
    if (!match->matches) return {};
  }
  PolicyVerdict verdict;
  std::string error;
  if (!DecideAll(policy, inputs.expressions, clock, verdict.decisions, error) ||
      !Annotate(policy, inputs.expressions, verdict.annotations, error))
    return {{FailedDecision(policy, error)}, {}};
  return verdict;
}

}  // namespace flyball::server
