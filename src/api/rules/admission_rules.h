// What webhook configurations and admission policies share: rules, clients, match conditions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "cel/policy/policy_compiler.h"
#include "json/value.h"

namespace flyball::api {

// Operations, groups, versions, resources and scope.
void ValidateAdmissionRule(const json::Value& rule, const FieldPath& path, FieldErrors& errors);
// A url or a service.
void ValidateWebhookClient(const json::Value& client, const FieldPath& path, FieldErrors& errors);

// What the stored object has already may use everything that a stored expression may (upstream:
// preexistingExpressions).
using StoredExpressions = std::set<std::string_view, std::less<>>;

// Named expressions that must compile. `params`: they may use that variable.
void ValidateMatchConditions(const json::Value& conditions, bool params, const StoredExpressions& stored,
                             const FieldPath& path, FieldErrors& errors);
// Adds the expressions of a list of match conditions.
void AddStoredExpressions(const json::Value& conditions, StoredExpressions& stored);
// An expression that does not compile is an error at `path`; `shown` is the value it is shown with.
void CheckCompiled(const cel::PolicyExpression& expression, std::string_view shown, const FieldPath& path,
                   FieldErrors& errors);

// Names that end with ".static.k8s.io" are reserved: a warning.
void WarnOfStaticName(const json::Value& object, std::vector<std::string>& out);

}  // namespace flyball::api
