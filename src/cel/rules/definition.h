// What is wrong with the rules of a new definition's schema (upstream: apiextensions validation,
// cel_validation.go): rules that do not compile, and rules that would cost too much. Functions only;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "cel/library/environment.h"
#include "cel/rules/problem.h"
#include "json/value.h"

namespace flyball::cel {

// Static limits of one rule, and of all rules of a definition together.
inline constexpr std::uint64_t kRuleCostLimit = 10'000'000;
inline constexpr std::uint64_t kDefinitionCostLimit = 100'000'000;

struct DefinitionProblems {
  std::vector<Problem> form;   // messages, reasons and paths that are no such
  std::vector<Problem> rules;  // expressions; not looked at where the form is wrong already
};

// `path` is where the schema stands. `old_schema`: rules that it has already may use everything a stored one
// may.
DefinitionProblems CheckDefinitionRules(
    const json::Value& schema, const std::string& path, const json::Value* old_schema,
    const Environment& environment = Environment::ForVersion(kDefaultCompatibilityVersion));

}  // namespace flyball::cel
