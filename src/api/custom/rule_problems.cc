#include "api/custom/rule_problems.h"

namespace flyball::api {
namespace {

// A rule as the struct Go prints.
json::Value ShownRule(const json::Value& rule) {
  const auto text = [&](std::string_view member) { return json::Value(rule[member].string_or("")); };
  json::Object shown;
  shown.Append("Rule", text("rule"));
  shown.Append("Message", text("message"));
  shown.Append("MessageExpression", text("messageExpression"));
  shown.Append("Reason", rule["reason"]);
  shown.Append("FieldPath", text("fieldPath"));
  shown.Append("OptionalOldSelf", rule["optionalOldSelf"]);
  return shown;
}

}  // namespace

void AddRuleProblem(const cel::Problem& problem, FieldErrors& errors) {
  const FieldPath path(problem.path.empty() ? "<nil>" : problem.path);
  const bool is_rule = problem.value.is_object() && problem.value.Find("rule");
  switch (problem.kind) {
    case cel::Problem::Kind::kInvalid:
      if (!problem.shows_value) return errors.InvalidOmitted(path, problem.detail);
      return errors.Invalid(path, is_rule ? ShownRule(problem.value) : problem.value, problem.detail);
    case cel::Problem::Kind::kForbidden:
      return errors.Forbidden(path, problem.detail);
    case cel::Problem::Kind::kRequired:
      return errors.Required(path, problem.detail);
    case cel::Problem::Kind::kDuplicate:
      if (!problem.shows_value) return errors.Add({"FieldValueDuplicate", "Duplicate value", path.text()});
      return errors.Duplicate(path, problem.value);
    case cel::Problem::Kind::kNotSupported:
      return errors.NotSupported(path, problem.value, problem.supported);
    case cel::Problem::Kind::kInternal:
      return errors.Internal(path, problem.detail);
  }
}

void AddRuleProblems(const std::vector<cel::Problem>& problems, FieldErrors& errors) {
  for (const cel::Problem& problem : problems) AddRuleProblem(problem, errors);
}

std::string RuleProblemText(const cel::Problem& problem) {
  FieldErrors errors;
  AddRuleProblem(problem, errors);
  return errors.causes()[0].field + ": " + errors.causes()[0].message;
}

}  // namespace flyball::api
