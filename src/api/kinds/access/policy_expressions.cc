#include "api/kinds/access/policy_expressions.h"

#include <set>
#include <string>

#include "api/rules/access.h"
#include "api/rules/admission_rules.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"
#include "cel/policy/policy_compiler.h"
#include "cel/schema/schema.h"

namespace flyball::api {
namespace {

using cel::PolicyCompiler;
using json::Value;

constexpr std::size_t kMaxAuditAnnotations = 20;
constexpr std::size_t kMaxAuditExpressionBytes = 5 * 1024;

bool IsCelIdentifier(std::string_view name) {
  return CIdentifierProblems(name).empty() && !cel::IsReservedWord(name) && name != "true" &&
         name != "false" && name != "null" && name != "in";
}

// The expressions of one policy, in the order in which they may use each other.
class ExpressionRules {
 public:
  // A validating policy without variables does not know the word.
  ExpressionRules(const PolicySpec& policy, PolicyCompiler::Composition composition, FieldErrors& errors)
      : policy_(policy), compiler_(composition), errors_(errors), params_(Has(policy.spec, "paramKind")) {}

  void CheckVariables(const StoredExpressions& stored);
  void CheckValidation(const Value& validation, const StoredExpressions& stored,
                       const StoredExpressions& stored_messages, const FieldPath& path);
  void CheckAuditAnnotation(const Value& annotation, const StoredExpressions& stored, const FieldPath& path);
  // `wanted`: the type it evaluates to.
  void CheckMutation(const Value& mutation, const StoredExpressions& stored, std::string_view wanted,
                     const FieldPath& path);

 private:
  void CheckMessage(const Value& validation, const StoredExpressions& stored, const FieldPath& path);

  const PolicySpec& policy_;
  PolicyCompiler compiler_;
  FieldErrors& errors_;
  const bool params_;
};

void ExpressionRules::CheckVariables(const StoredExpressions& stored) {
  const Value& variables = policy_.spec["variables"];
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value& variable = variables.as_array()[i];
    const FieldPath path = policy_.path.Child("variables").Index(i);
    const std::string_view name = Text(variable, "name"), expression = Text(variable, "expression");
    if (Trimmed(name).empty()) {
      errors_.Required(path.Child("name"), "name is not specified");
    } else if (!IsCelIdentifier(name)) {
      errors_.Invalid(path.Child("name"), name, "must be a valid CEL identifier");
    }
    if (Trimmed(expression).empty()) {
      errors_.Required(path.Child("expression"), "expression is not specified");
      continue;
    }
    CheckCompiled(
        compiler_.CompileVariable(
            name, expression, {.params = params_, .authorizer = true, .stored = stored.contains(expression)}),
        expression, path.Child("expression"), errors_);
  }
}

void ExpressionRules::CheckMessage(const Value& validation, const StoredExpressions& stored,
                                   const FieldPath& path) {
  const std::string_view expression = Text(validation, "messageExpression");
  if (!expression.empty() && Trimmed(expression).empty()) {
    errors_.Invalid(path.Child("messageExpression"), expression, "must be non-empty if specified");
  } else if (!expression.empty()) {
    CheckCompiled(
        compiler_.Compile(expression,
                          {.params = params_, .stored = stored.contains(expression), .wanted = {"string"}}),
        expression, path.Child("messageExpression"), errors_);
  }
  const std::string_view message = Text(validation, "message"), trimmed = Trimmed(message);
  if (!message.empty() && trimmed.empty()) {
    errors_.Invalid(path.Child("message"), message, "must be non-empty if specified");
  } else if (trimmed.find_first_of("\n\r") != std::string_view::npos) {
    errors_.Invalid(path.Child("message"), message, "must not contain line breaks");
  }
}

void ExpressionRules::CheckValidation(const Value& validation, const StoredExpressions& stored,
                                      const StoredExpressions& stored_messages, const FieldPath& path) {
  const std::string_view expression = Text(validation, "expression");
  if (Trimmed(expression).empty()) {
    errors_.Required(path.Child("expression"), "expression is not specified");
  } else {
    CheckCompiled(compiler_.Compile(expression, {.params = params_,
                                                 .authorizer = true,
                                                 .stored = stored.contains(expression),
                                                 .wanted = {"bool"}}),
                  expression, path.Child("expression"), errors_);
  }
  CheckMessage(validation, stored_messages, path);
  if (Has(validation, "reason"))
    CheckOneOf(Text(validation, "reason"), {"Forbidden", "Invalid", "RequestEntityTooLarge"},
               path.Child("reason"), errors_);
}

void ExpressionRules::CheckAuditAnnotation(const Value& annotation, const StoredExpressions& stored,
                                           const FieldPath& path) {
  const std::string_view key = Text(annotation, "key");
  if (policy_.name.empty()) {
    errors_.Invalid(path.Child("key"), key, "requires metadata.name be non-empty");
  } else {
    CheckFormat("qualified-name", std::string(policy_.name) + "/" + std::string(key), path.Child("key"),
                errors_);
  }
  const FieldPath here = path.Child("valueExpression");
  const std::string_view given = Text(annotation, "valueExpression"), expression = Trimmed(given);
  if (expression.empty()) return errors_.Required(here, "valueExpression is not specified");
  if (expression.size() > kMaxAuditExpressionBytes)
    return errors_.Required(
        here, "must not exceed " + std::to_string(kMaxAuditExpressionBytes) + " bytes in length");
  CheckCompiled(compiler_.Compile(expression, {.params = params_,
                                               .authorizer = true,
                                               .stored = stored.contains(given),
                                               .wanted = {"string", "null_type"}}),
                given, here, errors_);
}

void ExpressionRules::CheckMutation(const Value& mutation, const StoredExpressions& stored,
                                    std::string_view wanted, const FieldPath& path) {
  const std::string_view given = Text(mutation, "expression"), expression = Trimmed(given);
  if (expression.empty()) return errors_.Required(path.Child("expression"));
  CheckCompiled(compiler_.Compile(expression, {.params = params_,
                                               .authorizer = true,
                                               .patch_types = true,
                                               .stored = stored.contains(given),
                                               .wanted = {wanted}}),
                expression, path.Child("expression"), errors_);
}

// The texts of one member of each entry of a list of the stored policy.
StoredExpressions StoredTexts(const Value* spec, std::string_view list, std::string_view member) {
  StoredExpressions stored;
  if (spec)
    for (const Value& entry : Items((*spec)[list]))
      if (const auto text = Text(entry, member); !text.empty()) stored.insert(text);
  return stored;
}

void CheckAuditAnnotations(const PolicySpec& policy, ExpressionRules& rules, FieldErrors& errors) {
  const Value& annotations = policy.spec["auditAnnotations"];
  const FieldPath path = policy.path.Child("auditAnnotations");
  if (annotations.size() > kMaxAuditAnnotations)
    errors.Invalid(path, annotations,
                   "must not have more than " + std::to_string(kMaxAuditAnnotations) + " auditAnnotations");
  const auto stored = StoredTexts(policy.old, "auditAnnotations", "valueExpression");
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const Value& annotation = annotations.as_array()[i];
    rules.CheckAuditAnnotation(annotation, stored, path.Index(i));
    if (!keys.insert(Text(annotation, "key")).second)
      errors.Duplicate(path.Index(i).Child("key"), Text(annotation, "key"));
  }
}

void CheckMutationForm(const Value& mutation, const char* wanted, const char* other, std::string_view type,
                       std::string_view result, const StoredExpressions& stored, ExpressionRules& rules,
                       const FieldPath& path, FieldErrors& errors) {
  const std::string when = " when patchType is " + std::string(type);
  if (Has(mutation, wanted)) {
    rules.CheckMutation(mutation[wanted], stored, result, path.Child(wanted));
  } else {
    errors.Required(path.Child(wanted), "must be specified" + when);
  }
  if (Has(mutation, other))
    errors.Invalid(path.Child(other), "{" + std::string(other) + "}", "must not be specified" + when);
}

void CheckMutation(const Value& mutation, const StoredExpressions& stored, ExpressionRules& rules,
                   const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(mutation, "patchType");
  if (type == "JSONPatch") {
    CheckMutationForm(mutation, "jsonPatch", "applyConfiguration", type, "list(JSONPatch)", stored, rules,
                      path, errors);
  } else if (type == "ApplyConfiguration") {
    CheckMutationForm(mutation, "applyConfiguration", "jsonPatch", type, "Object", stored, rules, path,
                      errors);
  } else {
    RequireOneOf(type, {"ApplyConfiguration", "JSONPatch"}, path.Child("patchType"), errors);
  }
}

}  // namespace

void ValidateValidations(const PolicySpec& policy, FieldErrors& errors) {
  constexpr std::string_view kOneNeeded = "validations or auditAnnotations must contain at least one item";
  const Value &spec = policy.spec, &validations = spec["validations"];
  ExpressionRules rules(policy,
                        spec["variables"].size() > 0 ? PolicyCompiler::Composition::kVariables
                                                     : PolicyCompiler::Composition::kNone,
                        errors);
  const auto stored = StoredTexts(policy.old, "validations", "expression");
  rules.CheckVariables(stored);
  if (validations.size() == 0 && spec["auditAnnotations"].size() == 0) {
    errors.Required(policy.path.Child("validations"), kOneNeeded);
    return errors.Required(policy.path.Child("auditAnnotations"), kOneNeeded);
  }
  const auto stored_messages = StoredTexts(policy.old, "validations", "messageExpression");
  for (std::size_t i = 0; i < validations.size(); ++i)
    rules.CheckValidation(validations.as_array()[i], stored, stored_messages,
                          policy.path.Child("validations").Index(i));
  CheckAuditAnnotations(policy, rules, errors);
}

void ValidateMutations(const PolicySpec& policy, FieldErrors& errors) {
  ExpressionRules rules(policy, PolicyCompiler::Composition::kVariables, errors);
  rules.CheckVariables({});
  // Upstream compares both sorts of mutations with the stored apply configurations.
  StoredExpressions stored;
  if (policy.old)
    for (const Value& mutation : Items((*policy.old)["mutations"]))
      if (Has(mutation, "applyConfiguration"))
        stored.insert(Text(mutation["applyConfiguration"], "expression"));
  const Value& mutations = policy.spec["mutations"];
  const FieldPath path = policy.path.Child("mutations");
  if (mutations.size() == 0) errors.Required(path, "mutations must contain at least one item");
  for (std::size_t i = 0; i < mutations.size(); ++i)
    CheckMutation(mutations.as_array()[i], stored, rules, path.Index(i), errors);
  RequireOneOf(Text(policy.spec, "reinvocationPolicy"), {"IfNeeded", "Never"},
               policy.path.Child("reinvocationPolicy"), errors);
}

void ValidatePolicyStatus(const Value& object, const Value&, FieldErrors& errors) {
  const FieldPath path = FieldPath("status").Child("typeChecking").Child("expressionWarnings");
  const Value& warnings = object["status"]["typeChecking"]["expressionWarnings"];
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    const Value& warning = warnings.as_array()[i];
    if (Text(warning, "warning").empty()) errors.Required(path.Index(i).Child("warning"));
    if (Trimmed(Text(warning, "fieldRef")).empty()) errors.Required(path.Index(i).Child("fieldRef"));
  }
}

}  // namespace flyball::api
