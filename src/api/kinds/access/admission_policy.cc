#include <set>
#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/admission_rules.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kAdmissionPolicyGroup = "admissionregistration.k8s.io";

void ValidateMatchResources(const Value& match, const FieldPath& path, FieldErrors& errors) {
  if (!Has(match, "matchPolicy")) {
    errors.Required(path.Child("matchPolicy"));
  } else {
    CheckOneOf(Text(match, "matchPolicy"), {"Equivalent", "Exact"}, path.Child("matchPolicy"), errors);
  }
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    if (Has(match, selector)) {
      ValidateLabelSelector(match[selector], path.Child(selector), errors);
    } else {
      errors.Required(path.Child(selector));
    }
  }
  for (const char* list : {"resourceRules", "excludeResourceRules"}) {
    const Value& rules = match[list];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      ValidateAdmissionRule(rules.as_array()[i], path.Child(list).Index(i), errors);
    }
  }
}

void ValidateParamKind(const Value& kind, const FieldPath& path, FieldErrors& errors) {
  const std::string_view version = Text(kind, "apiVersion");
  if (version.empty()) {
    errors.Required(path.Child("apiVersion"));
  } else {
    const std::size_t slash = version.find('/');
    const std::string_view only = slash == std::string_view::npos ? version : version.substr(slash + 1);
    CheckFormat("dns-1035-label", only, path.Child("apiVersion"), errors);
  }
  RequireMembers(kind, {"kind"}, path, errors);
}

void ValidateVariables(const Value& variables, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value& variable = variables.as_array()[i];
    const std::string_view name = Text(variable, "name");
    if (name.empty()) {
      errors.Required(path.Index(i).Child("name"), "name is not specified");
    } else if (!CIdentifierProblems(name).empty()) {
      errors.Invalid(path.Index(i).Child("name"), name, "name is not a valid CEL identifier");
    }
    if (!names.insert(name).second) errors.Duplicate(path.Index(i).Child("name"), name);
    if (Text(variable, "expression").empty()) {
      errors.Required(path.Index(i).Child("expression"), "expression is not specified");
    }
  }
}

void ValidateValidations(const Value& validations, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < validations.size(); ++i) {
    const Value& validation = validations.as_array()[i];
    const FieldPath here = path.Index(i);
    if (Text(validation, "expression").empty())
      errors.Required(here.Child("expression"), "expression is not specified");
    const std::string_view message = Text(validation, "message");
    if (message.find('\n') != std::string_view::npos) {
      errors.Invalid(here.Child("message"), message, "message must not contain line breaks");
    }
    if (Has(validation, "reason")) {
      CheckOneOf(Text(validation, "reason"), {"Forbidden", "Invalid", "RequestEntityTooLarge"},
                 here.Child("reason"), errors);
    }
  }
}

void ValidateAuditAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const Value& annotation = annotations.as_array()[i];
    const std::string_view key = Text(annotation, "key");
    CheckFormat("qualified-name", key, path.Index(i).Child("key"), errors);
    if (!keys.insert(key).second) errors.Duplicate(path.Index(i).Child("key"), key);
    if (Text(annotation, "valueExpression").empty()) {
      errors.Required(path.Index(i).Child("valueExpression"), "valueExpression is not specified");
    }
  }
}

// What policies of both sorts say about the requests they look at.
void ValidatePolicyScope(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "failurePolicy")) {
    errors.Required(path.Child("failurePolicy"));
  } else {
    CheckOneOf(Text(spec, "failurePolicy"), {"Fail", "Ignore"}, path.Child("failurePolicy"), errors);
  }
  if (Has(spec, "paramKind")) ValidateParamKind(spec["paramKind"], path.Child("paramKind"), errors);
  if (!Has(spec, "matchConstraints")) return errors.Required(path.Child("matchConstraints"));
  ValidateMatchResources(spec["matchConstraints"], path.Child("matchConstraints"), errors);
  if (spec["matchConstraints"]["resourceRules"].size() == 0)
    errors.Required(path.Child("matchConstraints").Child("resourceRules"));
}

// Only what is created or updated can be changed.
void CheckMutatingOperations(const Value& match, const FieldPath& path, FieldErrors& errors) {
  for (const Value& rule : Items(match["resourceRules"]))
    for (const Value& operation : Items(rule["operations"]))
      CheckOneOf(operation.string_or({}), {"*", "CREATE", "UPDATE"},
                 path.Child("resourceRules").Child("operations"), errors);
}

void CheckMutationForm(const Value& mutation, const char* wanted, const char* other, std::string_view type,
                       const FieldPath& path, FieldErrors& errors) {
  const std::string when = " when patchType is " + std::string(type);
  if (!Has(mutation, wanted)) {
    errors.Required(path.Child(wanted), "must be specified" + when);
  } else if (Trimmed(Text(mutation[wanted], "expression")).empty()) {
    errors.Required(path.Child(wanted).Child("expression"));
  }
  if (Has(mutation, other))
    errors.Invalid(path.Child(other), "{" + std::string(other) + "}", "must not be specified" + when);
}

void ValidateMutation(const Value& mutation, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(mutation, "patchType");
  if (type == "JSONPatch")
    return CheckMutationForm(mutation, "jsonPatch", "applyConfiguration", type, path, errors);
  if (type == "ApplyConfiguration")
    return CheckMutationForm(mutation, "applyConfiguration", "jsonPatch", type, path, errors);
  RequireOneOf(type, {"ApplyConfiguration", "JSONPatch"}, path.Child("patchType"), errors);
}

void ValidateMutatingPolicy(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidatePolicyScope(spec, path, errors);
  CheckMutatingOperations(spec["matchConstraints"], path.Child("matchConstraints"), errors);
  ValidateMatchConditions(spec["matchConditions"], path.Child("matchConditions"), errors);
  ValidateVariables(spec["variables"], path.Child("variables"), errors);
  const Value& mutations = spec["mutations"];
  if (mutations.size() == 0)
    errors.Required(path.Child("mutations"), "mutations must contain at least one item");
  for (std::size_t i = 0; i < mutations.size(); ++i)
    ValidateMutation(mutations.as_array()[i], path.Child("mutations").Index(i), errors);
  RequireOneOf(Text(spec, "reinvocationPolicy"), {"IfNeeded", "Never"}, path.Child("reinvocationPolicy"),
               errors);
}

void ValidatePolicy(const Value& object, FieldErrors& errors) {
  constexpr std::string_view kOneNeeded = "validations or auditAnnotations must contain at least one item";
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidatePolicyScope(spec, path, errors);
  ValidateMatchConditions(spec["matchConditions"], path.Child("matchConditions"), errors);
  ValidateVariables(spec["variables"], path.Child("variables"), errors);
  if (spec["validations"].size() == 0 && spec["auditAnnotations"].size() == 0) {
    errors.Required(path.Child("validations"), kOneNeeded);
    errors.Required(path.Child("auditAnnotations"), kOneNeeded);
  }
  ValidateValidations(spec["validations"], path.Child("validations"), errors);
  ValidateAuditAnnotations(spec["auditAnnotations"], path.Child("auditAnnotations"), errors);
}

void ValidateParamRef(const Value& ref, const FieldPath& path, FieldErrors& errors) {
  const bool named = !Text(ref, "name").empty(), selected = Has(ref, "selector");
  if (!named && !selected) {
    errors.Required(path, "one of name or selector must be specified");
  } else if (named && selected) {
    errors.Forbidden(path.Child("name"), "name and selector are mutually exclusive");
  }
  if (named) CheckFormat("path-segment", Text(ref, "name"), path.Child("name"), errors);
  if (selected) ValidateLabelSelector(ref["selector"], path.Child("selector"), errors);
  if (!Has(ref, "parameterNotFoundAction")) {
    errors.Required(path.Child("parameterNotFoundAction"));
  } else {
    CheckOneOf(Text(ref, "parameterNotFoundAction"), {"Deny", "Allow"}, path.Child("parameterNotFoundAction"),
               errors);
  }
}

void ValidateBindingScope(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (Has(spec, "paramRef")) ValidateParamRef(spec["paramRef"], path.Child("paramRef"), errors);
  if (Has(spec, "matchResources"))
    ValidateMatchResources(spec["matchResources"], path.Child("matchResources"), errors);
}

void ValidateMutatingBinding(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const std::string_view policy = Text(spec, "policyName");
  if (policy.empty()) {
    errors.Required(path.Child("policyName"));
  } else {
    CheckFormat("dns-subdomain", policy, path.Child("policyName"), errors);
  }
  ValidateBindingScope(spec, path, errors);
  CheckMutatingOperations(spec["matchResources"], path.Child("matchResources"), errors);
}

void ValidateAdmissionPolicyBinding(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const std::string_view policy = Text(spec, "policyName");
  if (policy.empty()) {
    errors.declarative().Required(path.Child("policyName"));
  } else {
    CheckFormat("dns-subdomain", policy, path.Child("policyName"), errors);
  }
  ValidateBindingScope(spec, path, errors);
  const Value& actions = spec["validationActions"];
  const FieldPath list = path.Child("validationActions");
  if (actions.size() == 0) errors.declarative().Required(list);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string_view action = actions.as_array()[i].string_or({});
    CheckOneOf(action, {"Audit", "Deny", "Warn"}, list.Index(i), errors);
    if (!seen.insert(action).second) errors.Duplicate(list.Index(i), action);
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    errors.Invalid(list, actions,
                   "must not contain both Deny and Warn (repeating the same validation failure information "
                   "in the API response and headers serves no purpose)");
  }
}

}  // namespace

const KindHooks kValidatingAdmissionPolicyHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "ValidatingAdmissionPolicy",
    .validate = ValidatePolicy,
    .generation = true,
    .allow_unconditional_update = false,
};
const KindHooks kValidatingAdmissionPolicyBindingHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "ValidatingAdmissionPolicyBinding",
    .validate = ValidateAdmissionPolicyBinding,
    .generation = true,
    .allow_unconditional_update = false,
};

const KindHooks kMutatingAdmissionPolicyHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "MutatingAdmissionPolicy",
    .validate = ValidateMutatingPolicy,
    .generation = true,
    .allow_unconditional_update = false,
};
const KindHooks kMutatingAdmissionPolicyBindingHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "MutatingAdmissionPolicyBinding",
    .validate = ValidateMutatingBinding,
    .generation = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
