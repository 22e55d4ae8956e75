// PolicyEvaluation: evaluates the expressions of a policy for one request (upstream: admission/plugin/cel
// activation.go, composition.go). Variables are evaluated when they are first used, once each; their cost
// counts for the expression that used them first.
//
// Confined to one thread. Inputs, expressions and variables must outlive it; the values of its results live
// as long as it does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cel/policy/policy_compiler.h"
#include "cel/policy/policy_variables.h"
#include "cel/values/authorizer.h"
#include "cel/values/opaque.h"
#include "json/value.h"

namespace flyball::cel {

// What all expressions of a policy may cost together for one request, and all match conditions of a webhook
// or a policy (upstream: RuntimeCELCostBudget, RuntimeCELCostBudgetMatchConditions).
inline constexpr std::int64_t kPolicyCostBudget = 10'000'000;
inline constexpr std::int64_t kMatchConditionsCostBudget = 2'500'000;

// The values of variables. Null: the variable is null.
struct PolicyInputs {
  const json::Value* object = nullptr;
  const json::Value* old_object = nullptr;
  const json::Value* namespace_object = nullptr;
  const json::Value* request = nullptr;
  const json::Value* params = nullptr;
  Authorizer* authorizer = nullptr;
  AuthorizerQuery request_resource{};  // what authorizer.requestResource asks about
};

struct PolicyResult {
  enum class Kind : std::uint8_t {
    kValue,
    kError,     // of this expression; the next ones may be evaluated
    kExhausted  // the budget is spent: nothing more is evaluated
  };
  Kind kind = Kind::kValue;
  Value value;
  std::string error;

  bool ok() const { return kind == Kind::kValue; }
};

class PolicyEvaluation final : private Activation, private LazyFields {
 public:
  PolicyEvaluation(const PolicyInputs& inputs, std::span<const PolicyVariableExpression> variables,
                   std::int64_t budget);
  PolicyEvaluation(const PolicyEvaluation&) = delete;
  PolicyEvaluation& operator=(const PolicyEvaluation&) = delete;

  PolicyResult Evaluate(const PolicyExpression& expression);
  std::int64_t budget() const { return budget_; }
  Arena& arena() { return arena_; }

 private:
  struct Evaluated {
    bool done = false;
    Value value;
  };
  bool Find(int variable, Value* value) override;
  bool Find(std::string_view name, Value* value) override;
  Value EvaluateVariable(const PolicyVariableExpression& variable);
  void BindAuthorizer(const PolicyInputs& inputs);
  bool Spend(std::int64_t cost);

  Arena arena_;
  FixedActivation values_;
  std::span<const PolicyVariableExpression> variables_;
  std::vector<Evaluated> evaluated_;
  std::int64_t budget_;
  std::int64_t variables_cost_ = 0;  // of variables that the expression at work has used first
};

}  // namespace flyball::cel
