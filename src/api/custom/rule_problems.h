// What cel finds wrong with rules and objects, as field errors. Functions only; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "api/rules/field_error.h"
#include "cel/rules/definition.h"
#include "cel/rules/validator.h"

namespace flyball::api {

// Upstream's path of the whole object is "<nil>".
void AddRuleProblem(const cel::Problem& problem, FieldErrors& errors);
void AddRuleProblems(const std::vector<cel::Problem>& problems, FieldErrors& errors);
// "spec.x: Invalid value: 5: too large", as warnings say it.
std::string RuleProblemText(const cel::Problem& problem);

}  // namespace flyball::api
