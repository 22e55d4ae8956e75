#include <string>

#include "api/kinds/pod_spec/pod_label_keys.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidatePodAffinityExpression(const Value& expression, bool check_values, const FieldPath& path,
                                   FieldErrors& errors) {
  const std::string_view op = Text(expression, "operator");
  const Value& values = expression["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() == 0) {
      errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values.size() > 0) {
      errors.Forbidden(path.Child("values"),
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) {
      errors.Required(path.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
  CheckFormat("qualified-name", Text(expression, "key"), path.Child("key"), errors);
  for (std::size_t i = 0; check_values && i < values.size(); ++i) {
    CheckFormat("label-value", values.as_array()[i].string_or({}), path.Child("values").Index(i), errors);
  }
}

void ValidateField(const Value& field, const FieldPath& path, FieldErrors& errors) {
  const std::string_view op = Text(field, "operator");
  const Value& values = field["values"];
  if (op != "In" && op != "NotIn") {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  } else if (values.size() != 1) {
    errors.Required(path.Child("values"),
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  const std::string_view key = Text(field, "key");
  if (key != "metadata.name") return errors.Invalid(path.Child("key"), key, "not a valid field selector key");
  for (std::size_t i = 0; i < values.size(); ++i) {
    CheckFormat("dns-subdomain", values.as_array()[i].string_or({}), path.Child("values").Index(i), errors);
  }
}

void ValidateTerm(const Value& term, bool check_values, const FieldPath& path, FieldErrors& errors) {
  const Value& expressions = term["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    ValidatePodAffinityExpression(expressions.as_array()[i], check_values,
                                  path.Child("matchExpressions").Index(i), errors);
  }
  const Value& fields = term["matchFields"];
  for (std::size_t i = 0; i < fields.size(); ++i) {
    ValidateField(fields.as_array()[i], path.Child("matchFields").Index(i), errors);
  }
}

void CheckWeight(const Value& term, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t weight = Number(term, "weight");
  if (weight < 1 || weight > 100) errors.Invalid(path.Child("weight"), weight, "must be in the range 1-100");
}

void ValidatePodAffinityNodeAffinity(const Value& affinity, const FieldPath& path, FieldErrors& errors) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  if (Has(affinity, kRequired)) ValidateNodeSelector(affinity[kRequired], path.Child(kRequired), errors);
  const Value& preferred = affinity[kPreferred];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const FieldPath here = path.Child(kPreferred).Index(i);
    CheckWeight(preferred.as_array()[i], here, errors);
    ValidateTerm(preferred.as_array()[i]["preference"], false, here.Child("preference"), errors);
  }
}

void ValidatePodTerm(const Value& term, const FieldPath& path, FieldErrors& errors) {
  ValidateLabelSelector(term["labelSelector"], path.Child("labelSelector"), errors);
  ValidateLabelSelector(term["namespaceSelector"], path.Child("namespaceSelector"), errors);
  for (const Value& ns : Items(term["namespaces"])) {
    CheckFormat("dns-label", ns.string_or({}), path.Child("namespace"), errors);
  }
  ValidateAffinityLabelKeys(term, path, errors);
  const std::string_view topology = Text(term, "topologyKey");
  if (topology.empty()) errors.Required(path.Child("topologyKey"), "can not be empty");
  CheckFormat("qualified-name", topology, path.Child("topologyKey"), errors);
}

void ValidatePodAffinity(const Value& affinity, const FieldPath& path, FieldErrors& errors) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const Value& required = affinity[kRequired];
  for (std::size_t i = 0; i < required.size(); ++i) {
    ValidatePodTerm(required.as_array()[i], path.Child(kRequired).Index(i), errors);
  }
  const Value& preferred = affinity[kPreferred];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const FieldPath here = path.Child(kPreferred).Index(i);
    CheckWeight(preferred.as_array()[i], here, errors);
    ValidatePodTerm(preferred.as_array()[i]["podAffinityTerm"], here.Child("podAffinityTerm"), errors);
  }
}

}  // namespace

void ValidateNodeSelector(const Value& selector, const FieldPath& path, FieldErrors& errors) {
  const FieldPath list = path.Child("nodeSelectorTerms");
  const Value& terms = selector["nodeSelectorTerms"];
  if (terms.size() == 0) return errors.Required(list, "must have at least one node selector term");
  for (std::size_t i = 0; i < terms.size(); ++i)
    ValidateTerm(terms.as_array()[i], true, list.Index(i), errors);
}

void ValidateAffinity(const Value& affinity, const FieldPath& path, FieldErrors& errors) {
  if (Has(affinity, "nodeAffinity")) {
    ValidatePodAffinityNodeAffinity(affinity["nodeAffinity"], path.Child("nodeAffinity"), errors);
  }
  for (const char* name : {"podAffinity", "podAntiAffinity"}) {
    if (Has(affinity, name)) ValidatePodAffinity(affinity[name], path.Child(name), errors);
  }
}

}  // namespace flyball::api
