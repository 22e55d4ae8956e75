#include <algorithm>
#include <array>
#include <set>

#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::array<std::string_view, 7> kScopes = {"Terminating",          "NotTerminating",
                                                     "BestEffort",           "NotBestEffort",
                                                     "PriorityClass",        "CrossNamespacePodAffinity",
                                                     "VolumeAttributesClass"};

bool IsScope(std::string_view scope) {
  return std::find(kScopes.begin(), kScopes.end(), scope) != kScopes.end();
}

// Which resources a scope can count: only pods for the best-effort ones, compute for the others.
bool IsScopeFor(std::string_view scope, std::string_view resource) {
  if (scope == "BestEffort") return resource == "pods";
  if (scope == "VolumeAttributesClass")
    return resource == "persistentvolumeclaims" || resource == "requests.storage";
  if (!IsScope(scope)) return true;
  constexpr std::array<std::string_view, 7> kCompute = {
      "pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
  return std::find(kCompute.begin(), kCompute.end(), resource) != kCompute.end() ||
         resource.find("hugepages-") != std::string_view::npos ||
         resource.find("ephemeral-storage") != std::string_view::npos;
}

void CheckConflicts(const std::set<std::string_view>& scopes, const Value& shown, const FieldPath& path,
                    FieldErrors& errors) {
  const bool quality = scopes.contains("BestEffort") && scopes.contains("NotBestEffort");
  const bool ending = scopes.contains("Terminating") && scopes.contains("NotTerminating");
  if (quality) errors.Invalid(path, shown, "conflicting scopes");
  if (ending) errors.Invalid(path, shown, "conflicting scopes");
}

void CheckHard(const Value& hard, std::string_view scope, const Value& shown, const FieldPath& path,
               FieldErrors& errors) {
  for (const auto& [name, quantity] : Entries(hard)) {
    if (IsStandardQuotaResource(name) && !IsScopeFor(scope, name)) {
      errors.Invalid(path, shown, "unsupported scope applied to resource");
    }
  }
}

void ValidateScopes(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& scopes = spec["scopes"];
  std::set<std::string_view> seen;
  for (const Value& item : Items(scopes)) {
    const std::string_view scope = item.string_or({});
    if (!IsScope(scope)) errors.Invalid(path, scopes, "unsupported scope");
    CheckHard(spec["hard"], scope, scopes, path, errors);
    seen.insert(scope);
  }
  CheckConflicts(seen, scopes, path, errors);
}

void ValidateResourceQuotaExpression(const Value& expression, const FieldPath& path, FieldErrors& errors) {
  const std::string_view scope = Text(expression, "scopeName");
  const std::string_view op = Text(expression, "operator");
  const Value& values = expression["values"];
  const bool plain = IsScope(scope) && scope != "PriorityClass" && scope != "VolumeAttributesClass";
  if (plain && op != "Exists") {
    errors.Invalid(
        path.Child("operator"), op,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
        "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
        "ResourceQuotaScopeCrossNamespacePodAffinity");
  }
  if (op == "In" || op == "NotIn") {
    if (values.size() == 0) {
      errors.Required(path.Child("values"),
                      "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values.size() > 0) {
      errors.Invalid(path.Child("values"), values,
                     "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
    }
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
}

void ValidateScopeSelector(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (const Value& expression : Items(spec["scopeSelector"]["matchExpressions"])) {
    const std::string_view scope = Text(expression, "scopeName");
    if (!IsScope(scope)) errors.Invalid(path.Child("scopeName"), scope, "unsupported scope");
    CheckHard(spec["hard"], scope, spec["scopeSelector"], path, errors);
    ValidateResourceQuotaExpression(expression, path, errors);
    seen.insert(scope);
  }
  CheckConflicts(seen, spec["scopes"], path, errors);
}

void CheckResourceQuotaList(const Value& list, const FieldPath& path, FieldErrors& errors) {
  for (const auto& [name, quantity] : Entries(list)) {
    CheckQuotaResourceName(name, path.Key(name), errors);
    CheckResourceQuantity(name, quantity, path.Key(name), errors);
  }
}

void ValidateResourceQuota(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  CheckResourceQuotaList(spec["hard"], path.Child("hard"), errors);
  ValidateScopes(spec, path.Child("scopes"), errors);
  ValidateScopeSelector(spec, path.Child("scopeSelector").Child("matchExpressions"), errors);
}

void ValidateResourceQuotaUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  std::set<std::string_view> now, before;
  for (const Value& scope : Items(object["spec"]["scopes"])) now.insert(scope.string_or({}));
  for (const Value& scope : Items(old["spec"]["scopes"])) before.insert(scope.string_or({}));
  if (now != before) errors.Invalid(FieldPath("spec.scopes"), object["spec"]["scopes"], kImmutableText);
}

void ValidateResourceQuotaStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  for (const char* list : {"hard", "used"})
    CheckResourceQuotaList(object["status"][list], FieldPath("status").Child(list), errors);
}

}  // namespace

const KindHooks kResourceQuotaHooks = {
    .group = "",
    .kind = "ResourceQuota",
    .validate = ValidateResourceQuota,
    .validate_update = ValidateResourceQuotaUpdate,
    .validate_status_update = ValidateResourceQuotaStatusUpdate,
    .return_deleted_object = true,
};

}  // namespace flyball::api
