#include "cel/policy/policy_evaluation.h"

#include <limits>

#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

constexpr std::string_view kBudgetSpent =
    "validation failed due to running out of cost budget, no further validation rules will be run";

const Type kVariablesValueType{TypeKind::kStruct, "kubernetes.variables", {}, false, -1, nullptr};

std::int64_t Clamped(std::uint64_t cost) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return cost > static_cast<std::uint64_t>(kMax) ? kMax : static_cast<std::int64_t>(cost);
}

}  // namespace

PolicyEvaluation::PolicyEvaluation(const PolicyInputs& inputs,
                                   std::span<const PolicyVariableExpression> variables, std::int64_t budget)
    : LazyFields(&kVariablesValueType), variables_(variables), evaluated_(variables.size()), budget_(budget) {
  const auto bind = [&](int variable, const json::Value* value) {
    values_.Set(variable, value ? FromJson(arena_, *value, nullptr) : Value());
  };
  bind(kObjectVariable, inputs.object);
  bind(kOldObjectVariable, inputs.old_object);
  bind(kNamespaceObjectVariable, inputs.namespace_object);
  bind(kRequestVariable, inputs.request);
  bind(kParamsVariable, inputs.params);
  values_.Set(kVariablesVariable, Value::Opaque(this));
  if (inputs.authorizer) BindAuthorizer(inputs);
}

void PolicyEvaluation::BindAuthorizer(const PolicyInputs& inputs) {
  values_.Set(kAuthorizerVariable, Value::Opaque(arena_.New<AuthorizerValue>(
                                       OpaqueKind::kAuthorizer, &types::kAuthorizer, inputs.authorizer)));
  auto* check =
      arena_.New<AuthorizerValue>(OpaqueKind::kResourceCheck, &types::kResourceCheck, inputs.authorizer);
  check->query = inputs.request_resource;
  values_.Set(kRequestResourceVariable, Value::Opaque(check));
}

bool PolicyEvaluation::Spend(std::int64_t cost) {
  if (cost > budget_) {
    budget_ = -1;
    return false;
  }
  budget_ -= cost;
  return true;
}

PolicyResult PolicyEvaluation::Evaluate(const PolicyExpression& expression) {
  using Kind = PolicyResult::Kind;
  if (!expression.expression) return {Kind::kError, {}, "compilation error: " + expression.error};
  variables_cost_ = 0;
  const Evaluation evaluation = expression.expression->program().Evaluate(*this, arena_);
  if (!Spend(variables_cost_) || !Spend(Clamped(evaluation.cost)))
    return {Kind::kExhausted, {}, std::string(kBudgetSpent)};
  if (evaluation.value.IsError())
    return {
        Kind::kError,
        {},
        "expression '" + expression.text + "' resulted in error: " + std::string(evaluation.value.error())};
  return {Kind::kValue, evaluation.value, {}};
}

bool PolicyEvaluation::Find(int variable, Value* value) {
  return values_.Find(variable, value);
}

bool PolicyEvaluation::Find(std::string_view name, Value* value) {
  for (std::size_t i = variables_.size(); i-- > 0;) {
    if (variables_[i].name != name) continue;
    if (!evaluated_[i].done) {
      // While it is evaluated: a variable that is declared twice could ask for itself.
      evaluated_[i] = {true, NoSuchOverload()};
      evaluated_[i].value = EvaluateVariable(variables_[i]);
    }
    *value = evaluated_[i].value;
    return true;
  }
  return false;
}

Value PolicyEvaluation::EvaluateVariable(const PolicyVariableExpression& variable) {
  const std::string what = "composited variable " + QuoteGo(variable.name) + " fails to ";
  if (!variable.value.expression) return Value::Error(arena_, what + "compile: " + variable.value.error);
  const Evaluation evaluation = variable.value.expression->program().Evaluate(*this, arena_);
  const std::int64_t cost = Clamped(evaluation.cost);
  variables_cost_ = cost > std::numeric_limits<std::int64_t>::max() - variables_cost_
                        ? std::numeric_limits<std::int64_t>::max()
                        : variables_cost_ + cost;
  if (evaluation.value.IsError())
    return Value::Error(arena_, what + "evaluate: " + std::string(evaluation.value.error()));
  return evaluation.value;
}

}  // namespace flyball::cel
