#include <set>
#include <string>
#include <vector>

#include "api/kinds/access/policy_expressions.h"
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

void ValidateResourceNames(const Value& names, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names.as_array()[i].string_or({});
    CheckFormat("path-segment", name, path.Index(i), errors);
    if (!seen.insert(name).second) errors.Duplicate(path.Index(i), name);
  }
}

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
      ValidateResourceNames(rules.as_array()[i]["resourceNames"],
                            path.Child(list).Index(i).Child("resourceNames"), errors);
      ValidateAdmissionRule(rules.as_array()[i], path.Child(list).Index(i), errors);
    }
  }
}

// "a, b": what is wrong with a part of a name, in one error.
void CheckNamePart(const std::vector<std::string>& problems, std::string_view value, std::string_view prefix,
                   const FieldPath& path, FieldErrors& errors) {
  if (problems.empty()) return;
  std::string detail(prefix);
  for (std::size_t i = 0; i < problems.size(); ++i) detail += (i ? "," : "") + problems[i];
  errors.Invalid(path, value, detail);
}

void ValidateParamVersion(std::string_view version, const FieldPath& path, FieldErrors& errors) {
  if (version.empty()) return errors.Required(path);
  const std::size_t slash = version.find('/');
  if (slash != std::string_view::npos && version.find('/', slash + 1) != std::string_view::npos)
    return errors.Invalid(path, version, "unexpected GroupVersion string: " + std::string(version));
  const bool grouped = slash != std::string_view::npos;
  const std::string_view group = grouped ? version.substr(0, slash) : std::string_view();
  const std::string_view number = grouped ? version.substr(slash + 1) : version;
  if (!group.empty()) CheckNamePart(DnsSubdomainProblems(group), group, "", path, errors);
  if (number.empty()) return errors.Invalid(path, version, "version must be specified");
  CheckNamePart(Dns1035LabelProblems(number), number, "", path, errors);
}

void ValidateParamKind(const Value& kind, const FieldPath& path, FieldErrors& errors) {
  ValidateParamVersion(Text(kind, "apiVersion"), path.Child("apiVersion"), errors);
  const std::string_view name = Text(kind, "kind");
  if (name.empty()) return errors.Required(path.Child("kind"));
  CheckNamePart(Dns1035LabelProblems(LowerCase(name)), name,
                "may have mixed case, but should otherwise match: ", path.Child("kind"), errors);
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

// What is deleted cannot be changed.
void CheckMutatingOperations(const Value& match, const FieldPath& path, FieldErrors& errors) {
  for (const Value& rule : Items(match["resourceRules"]))
    for (const Value& operation : Items(rule["operations"]))
      CheckOneOf(operation.string_or({}), {"*", "CONNECT", "CREATE", "UPDATE"},
                 path.Child("resourceRules").Child("operations"), errors);
}

// Match conditions are looked at again when they or what they may use changed.
bool ConditionsChanged(const Value& spec, const Value* old) {
  return !old || spec["paramKind"] != (*old)["paramKind"] ||
         spec["matchConditions"] != (*old)["matchConditions"];
}

void ValidateSpecOf(const Value& object, const Value* old_object, FieldErrors& errors,
                    void (*validate)(const PolicySpec& policy, FieldErrors& errors)) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value* old = old_object ? &(*old_object)["spec"] : nullptr;
  ValidatePolicyScope(spec, path, errors);
  if (validate == ValidateMutations)
    CheckMutatingOperations(spec["matchConstraints"], path.Child("matchConstraints"), errors);
  if (ConditionsChanged(spec, old)) {
    StoredExpressions stored;
    if (old) AddStoredExpressions((*old)["matchConditions"], stored);
    ValidateMatchConditions(spec["matchConditions"], Has(spec, "paramKind"), stored,
                            path.Child("matchConditions"), errors);
  }
  validate({Text(object["metadata"], "name"), spec, old, path}, errors);
}

void ValidatePolicy(const Value& object, FieldErrors& errors) {
  ValidateSpecOf(object, nullptr, errors, ValidateValidations);
}
void ValidatePolicyUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateSpecOf(object, &old, errors, ValidateValidations);
}
void ValidateMutatingPolicy(const Value& object, FieldErrors& errors) {
  ValidateSpecOf(object, nullptr, errors, ValidateMutations);
}
void ValidateMutatingPolicyUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateSpecOf(object, &old, errors, ValidateMutations);
}

void ValidateParamRef(const Value& ref, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kEither = "name and selector are mutually exclusive";
  const bool named = !Text(ref, "name").empty(), selected = Has(ref, "selector");
  if (named) {
    CheckFormat("path-segment", Text(ref, "name"), path.Child("name"), errors);
    if (selected) errors.Forbidden(path.Child("name"), kEither);
  }
  if (selected) {
    ValidateLabelSelector(ref["selector"], path.Child("selector"), errors);
    if (named) errors.Forbidden(path.Child("selector"), kEither);
  }
  if (!named && !selected) errors.Required(path, "one of name or selector must be specified");
  const std::string_view action = Text(ref, "parameterNotFoundAction");
  if (action.empty()) {
    errors.Required(path.Child("parameterNotFoundAction"));
  } else if (action != "Deny" && action != "Allow") {
    errors.NotSupported(path.Child("parameterNotFoundAction"), action, {"Deny", "Allow"});
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
    .validate_update = ValidatePolicyUpdate,
    .validate_status_update = ValidatePolicyStatus,
    .validate_update_alone = true,
    .status_keeps_metadata = true,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};
const KindHooks kValidatingAdmissionPolicyBindingHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "ValidatingAdmissionPolicyBinding",
    .validate = ValidateAdmissionPolicyBinding,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

const KindHooks kMutatingAdmissionPolicyHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "MutatingAdmissionPolicy",
    .validate = ValidateMutatingPolicy,
    .validate_update = ValidateMutatingPolicyUpdate,
    .validate_update_alone = true,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};
const KindHooks kMutatingAdmissionPolicyBindingHooks = {
    .group = kAdmissionPolicyGroup,
    .kind = "MutatingAdmissionPolicyBinding",
    .validate = ValidateMutatingBinding,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
