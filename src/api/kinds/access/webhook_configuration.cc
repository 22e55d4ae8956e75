#include <set>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/admission_rules.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kWebhookConfigurationGroup = "admissionregistration.k8s.io";
constexpr std::int64_t kMaxTimeoutSeconds = 30;

void ValidateReviewVersions(const Value& versions, const FieldPath& path, FieldErrors& errors) {
  if (versions.size() == 0) return errors.Required(path, "must specify one of v1, v1beta1");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string_view version = versions.as_array()[i].string_or({});
    if (!seen.insert(version).second) errors.Invalid(path.Index(i), version, "duplicate version");
    CheckFormat("dns-1035-label", version, path.Index(i), errors);
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1")) {
    errors.Invalid(path, versions, "must include at least one of v1, v1beta1");
  }
}

void ValidateSideEffects(const Value& hook, const FieldPath& path, FieldErrors& errors) {
  if (!Has(hook, "sideEffects")) return errors.Required(path, "must specify one of None, NoneOnDryRun");
  CheckOneOf(Text(hook, "sideEffects"), {"None", "NoneOnDryRun"}, path, errors);
}

// What of the match conditions is checked.
struct ConditionRules {
  bool check = true;  // false: an update that leaves them as they are
  StoredExpressions stored;
};

void ValidateHook(const Value& hook, const ConditionRules& conditions, const FieldPath& path,
                  FieldErrors& errors) {
  ValidateFullyQualifiedName(Text(hook, "name"), path.Child("name"), errors);
  const Value& rules = hook["rules"];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    ValidateAdmissionRule(rules.as_array()[i], path.Child("rules").Index(i), errors);
  }
  if (Has(hook, "failurePolicy")) {
    CheckOneOf(Text(hook, "failurePolicy"), {"Fail", "Ignore"}, path.Child("failurePolicy"), errors);
  }
  if (Has(hook, "matchPolicy")) {
    CheckOneOf(Text(hook, "matchPolicy"), {"Equivalent", "Exact"}, path.Child("matchPolicy"), errors);
  }
  ValidateSideEffects(hook, path.Child("sideEffects"), errors);
  const Value& timeout = hook["timeoutSeconds"];
  if (!timeout.is_null() && (timeout.int_or(0) < 1 || timeout.int_or(0) > kMaxTimeoutSeconds)) {
    errors.Invalid(path.Child("timeoutSeconds"), timeout,
                   "the timeout value must be between 1 and 30 seconds");
  }
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    ValidateLabelSelector(hook[selector], path.Child(selector), errors);
  }
  if (Has(hook, "reinvocationPolicy")) {
    CheckOneOf(Text(hook, "reinvocationPolicy"), {"IfNeeded", "Never"}, path.Child("reinvocationPolicy"),
               errors);
  }
  ValidateWebhookClient(hook["clientConfig"], path.Child("clientConfig"), errors);
  if (conditions.check)
    ValidateMatchConditions(hook["matchConditions"], false, conditions.stored, path.Child("matchConditions"),
                            errors);
}

void ValidateHooks(const Value& object, const ConditionRules& conditions, FieldErrors& errors) {
  std::set<std::string_view> names;
  const Value& hooks = object["webhooks"];
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const Value& hook = hooks.as_array()[i];
    const FieldPath path = FieldPath("webhooks").Index(i);
    ValidateHook(hook, conditions, path, errors);
    ValidateReviewVersions(hook["admissionReviewVersions"], path.Child("admissionReviewVersions"), errors);
    const std::string_view name = Text(hook, "name");
    if (!name.empty() && !names.insert(name).second) errors.Duplicate(path.Child("name"), name);
  }
}

void ValidateWebhookConfiguration(const Value& object, FieldErrors& errors) {
  ValidateHooks(object, {}, errors);
}

bool SameConditions(const Value& hooks, const Value& old) {
  if (hooks.size() != old.size()) return false;
  for (std::size_t i = 0; i < hooks.size(); ++i)
    if (hooks.as_array()[i]["matchConditions"] != old.as_array()[i]["matchConditions"]) return false;
  return true;
}

void ValidateWebhookConfigurationUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ConditionRules conditions{.check = !SameConditions(object["webhooks"], old["webhooks"]), .stored = {}};
  for (const Value& hook : Items(old["webhooks"]))
    AddStoredExpressions(hook["matchConditions"], conditions.stored);
  ValidateHooks(object, conditions, errors);
}

}  // namespace

const KindHooks kMutatingWebhookConfigurationHooks = {
    .group = kWebhookConfigurationGroup,
    .kind = "MutatingWebhookConfiguration",
    .validate = ValidateWebhookConfiguration,
    .validate_update = ValidateWebhookConfigurationUpdate,
    .validate_update_alone = true,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};
const KindHooks kValidatingWebhookConfigurationHooks = {
    .group = kWebhookConfigurationGroup,
    .kind = "ValidatingWebhookConfiguration",
    .validate = ValidateWebhookConfiguration,
    .validate_update = ValidateWebhookConfigurationUpdate,
    .validate_update_alone = true,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfStaticName,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
