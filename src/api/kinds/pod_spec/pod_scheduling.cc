#include <string>

#include "api/kinds/pod_spec/pod_label_keys.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

std::string Joined(const Problems& problems) {
  std::string out;
  for (const std::string& problem : problems) out += (out.empty() ? "" : ";") + problem;
  return out;
}

void ValidateToleration(const Value& toleration, const FieldPath& path, FieldErrors& errors) {
  const std::string_view key = Text(toleration, "key");
  const std::string_view op = Text(toleration, "operator");
  const std::string_view value = Text(toleration, "value");
  const std::string_view effect = Text(toleration, "effect");
  if (!key.empty()) CheckFormat("qualified-name", key, path.Child("key"), errors);
  if (key.empty() && op != "Exists") {
    errors.Invalid(
        path.Child("operator"), op,
        "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
  }
  if (Has(toleration, "tolerationSeconds") && effect != "NoExecute") {
    errors.Invalid(path.Child("effect"), effect,
                   "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (op == "Equal" || op.empty()) {
    const Problems problems = LabelValueFormatProblems(value);
    if (!problems.empty()) errors.Invalid(path.Child("operator"), value, Joined(problems));
  } else if (op == "Exists") {
    if (!value.empty()) {
      errors.Invalid(path.Child("operator"), value, "value must be empty when `operator` is 'Exists'");
    }
  } else {
    errors.NotSupported(path.Child("operator"), op, {"Equal", "Exists"});
  }
  if (!effect.empty()) ValidateTaintEffect(effect, true, path.Child("effect"), errors);
}

void ValidateMinDomains(const Value& constraint, const FieldPath& path, FieldErrors& errors) {
  const Value& domains = constraint["minDomains"];
  if (domains.is_null()) return;
  if (domains.int_or(0) <= 0) errors.Invalid(path, domains, "must be greater than zero");
  const std::string_view action = Text(constraint, "whenUnsatisfiable");
  if (action == "DoNotSchedule") return;
  errors.Invalid(path, domains,
                 "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + std::string(action));
}

void CheckRepeated(const Value& constraints, std::size_t i, const FieldPath& path, FieldErrors& errors) {
  const Value& constraint = constraints.as_array()[i];
  for (std::size_t j = i + 1; j < constraints.size(); ++j) {
    const Value& other = constraints.as_array()[j];
    if (constraint["topologyKey"] != other["topologyKey"]) continue;
    if (constraint["whenUnsatisfiable"] != other["whenUnsatisfiable"]) continue;
    const std::string pair = "{" + std::string(Text(constraint, "topologyKey")) + ", " +
                             std::string(Text(constraint, "whenUnsatisfiable")) + "}";
    return errors.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), pair);
  }
}

}  // namespace

void ValidateTaintEffect(std::string_view effect, bool allow_empty, const FieldPath& path,
                         FieldErrors& errors) {
  if (!allow_empty && effect.empty()) return errors.Required(path);
  CheckOneOf(effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, path, errors);
}

void ValidateTolerations(const Value& tolerations, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    ValidateToleration(tolerations.as_array()[i], path.Index(i), errors);
  }
}

void ValidateTopologySpread(const Value& constraints, const FieldPath& list, FieldErrors& errors) {
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Value& constraint = constraints.as_array()[i];
    const FieldPath path = list.Index(i);
    const std::int64_t skew = Number(constraint, "maxSkew");
    if (skew <= 0) errors.Invalid(path.Child("maxSkew"), skew, "must be greater than zero");
    if (Text(constraint, "topologyKey").empty())
      errors.Required(path.Child("topologyKey"), "can not be empty");
    CheckOneOf(Text(constraint, "whenUnsatisfiable"), {"DoNotSchedule", "ScheduleAnyway"},
               path.Child("whenUnsatisfiable"), errors);
    CheckRepeated(constraints, i, path, errors);
    ValidateMinDomains(constraint, path.Child("minDomains"), errors);
    for (const char* policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
      if (Has(constraint, policy)) {
        CheckOneOf(Text(constraint, policy), {"Honor", "Ignore"}, path.Child(policy), errors);
      }
    }
    ValidateSpreadLabelKeys(constraint, path.Child("matchLabelKeys"), errors);
    ValidateLabelSelector(constraint["labelSelector"], path.Child("labelSelector"), errors);
  }
}

}  // namespace flyball::api
