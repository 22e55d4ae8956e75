// Rule: one x-kubernetes-validations entry, compiled (upstream: apiextensions schema/cel/compilation.go).
// Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/expression.h"
#include "json/value.h"

namespace flyball::cel {

// The variables of rules, in the order they are declared.
inline constexpr int kSelfVariable = 0, kOldSelfVariable = 1;

struct Rule {
  std::string rule, message, message_expression_text, reason, field_path;
  bool optional_old_self = false, has_optional_old_self = false;

  std::unique_ptr<const Expression> expression, message_expression;
  std::string error, message_error;  // why there is no expression; empty if there is none to be had
  bool uses_old_self = false;
  std::string normalized_field_path;
  std::uint64_t max_cost = 0, message_max_cost = 0;
};

// The rules of one schema node. `declaration` is what self is.
std::vector<Rule> CompileRules(const json::Value& validations, const Schema& schema,
                               const DeclType& declaration, const Environment& environment);

// A fieldPath such as ".spec.replicas" or "['a']['b']", normalised; false if it leads nowhere in the schema.
bool NormalizeFieldPath(std::string_view path, const Schema& schema, std::string* normalized);

}  // namespace flyball::cel
