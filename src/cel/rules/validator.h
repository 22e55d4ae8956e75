// Validator: all rules of a schema, ready to check objects (upstream: apiextensions
// schema/cel/validation.go). Immutable after Build; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/rules/problem.h"
#include "cel/rules/rule.h"
#include "cel/schema/schema.h"
#include "json/value.h"

namespace flyball::cel {

// What all rules of an object may cost together (upstream: RuntimeCELCostBudget).
inline constexpr std::int64_t kObjectCostBudget = 10'000'000;

class Validator {
 public:
  // `schema` is the openAPIV3Schema of a resource, or a part of one if not `is_root`, and must outlive the
  // validator. Null if it has no rules.
  static std::unique_ptr<const Validator> Build(const json::Value& schema, bool is_root = true);
  ~Validator();
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  struct Outcome {
    std::vector<Problem> problems;
    std::vector<Problem> ratcheted;  // broken already before, in a part that did not change: worth a warning
    std::int64_t remaining = 0;      // of the budget; negative when it was spent
  };
  // `old` is null when the object is created. Stops when the budget is spent.
  Outcome Validate(const json::Value& object, const json::Value* old,
                   std::int64_t budget = kObjectCostBudget) const;
  // A default, which stands at `path`: it must be right both where it was before and where it is new.
  Outcome ValidateDefault(const json::Value& value, const std::string& path, std::int64_t budget) const;

 private:
  struct Node;
  class Builder;
  class Run;
  Validator();

  std::unique_ptr<const SchemaTree> tree_;
  std::unique_ptr<const Node> root_;
};

// Evaluates the rules of one node on one value. `self_schema` types the values. Returns the remaining budget;
// negative when nothing more may run.
std::int64_t EvaluateRules(const std::vector<Rule>& rules, const Schema& self_schema,
                           const json::Value& value, const json::Value* old, const std::string& path,
                           bool ratchets, std::int64_t budget, Validator::Outcome& outcome);

}  // namespace flyball::cel
