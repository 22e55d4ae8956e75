#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/storage_warnings.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxParameterBytes = 256 * 1024;
constexpr std::size_t kMaxParameters = 512;

void ValidateParameters(const Value& parameters, const FieldPath& path, FieldErrors& errors) {
  std::size_t bytes = 0;
  if (parameters.size() > kMaxParameters) {
    errors.TooLong(FieldPath("Provisioner Parameters"), kMaxParameters);
    return;
  }
  for (const auto& [key, value] : Entries(parameters)) {
    if (key.empty()) errors.Invalid(path, key, "field can not be empty.");
    bytes += key.size() + value.string_or({}).size();
  }
  if (bytes > kMaxParameterBytes) errors.TooLong(path, kMaxParameterBytes);
}

void ValidateProvisioner(std::string_view provisioner, const FieldPath& path, FieldErrors& errors) {
  if (provisioner.empty()) return errors.Required(path);
  AddProblems(QualifiedNameProblems(LowerCase(provisioner)), path, provisioner, errors);
}

using TopologyTerm = std::map<std::string_view, std::set<std::string_view>>;  // the values of each key

TopologyTerm ValidateTopologyTerm(const Value& expressions, const FieldPath& list, FieldErrors& errors) {
  TopologyTerm term;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const Value& expression = expressions.as_array()[i];
    const FieldPath path = list.Index(i);
    const Value& values = expression["values"];
    if (values.size() == 0) errors.Required(path.Child("values"));
    std::set<std::string_view> seen;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::string_view value = values.as_array()[k].string_or({});
      if (!seen.insert(value).second) errors.Duplicate(path.Child("values").Index(k), value);
    }
    const std::string_view key = Text(expression, "key");
    CheckFormat("qualified-name", key, path.Child("key"), errors);
    if (term.contains(key)) errors.Duplicate(path.Child("key"), key);
    term[key] = std::move(seen);
  }
  return term;
}

void ValidateTopologies(const Value& terms, const FieldPath& list, FieldErrors& errors) {
  constexpr std::size_t kMostReported = 100;  // once for each that is the same
  std::map<TopologyTerm, std::size_t> before;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const FieldPath path = list.Index(i).Child("matchLabelExpressions");
    TopologyTerm term = ValidateTopologyTerm(terms.as_array()[i]["matchLabelExpressions"], path, errors);
    // Upstream compares a term without keys with a list of as many nothings as there are terms.
    if (term.empty()) errors.Duplicate(path, "");
    std::size_t& same = before[std::move(term)];
    for (std::size_t n = 0; n < std::min(same, kMostReported); ++n) errors.Duplicate(path, "");
    ++same;
  }
}

void ValidateStorageClass(const Value& object, FieldErrors& errors) {
  ValidateProvisioner(Text(object, "provisioner"), FieldPath("provisioner"), errors);
  ValidateParameters(object["parameters"], FieldPath("parameters"), errors);
  if (const std::string_view policy = Text(object, "reclaimPolicy"); !policy.empty()) {
    CheckOneOf(policy, {"Delete", "Retain"}, FieldPath("reclaimPolicy"), errors);
  }
  if (!Has(object, "volumeBindingMode")) {
    errors.Required(FieldPath("volumeBindingMode"));
  } else {
    CheckOneOf(Text(object, "volumeBindingMode"), {"Immediate", "WaitForFirstConsumer"},
               FieldPath("volumeBindingMode"), errors);
  }
  ValidateTopologies(object["allowedTopologies"], FieldPath("allowedTopologies"), errors);
}

void ValidateStorageClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  for (const char* field : {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}) {
    const bool same = object[field] == old[field] || (IsZero(object[field]) && IsZero(old[field]));
    // Declarative validation does not show the value.
    if (!same) errors.declarative().Invalid(FieldPath(field), Value(), kImmutableText);
  }
}

}  // namespace

const KindHooks kStorageClassHooks = {
    .group = "storage.k8s.io",
    .kind = "StorageClass",
    .validate = ValidateStorageClass,
    .validate_update = ValidateStorageClassUpdate,
    .return_deleted_object = true,
    .warnings = WarnOfStorageClass,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
