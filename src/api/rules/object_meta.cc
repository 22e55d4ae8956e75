#include "api/rules/object_meta.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "api/rules/format.h"
#include "api/schema/zero_value.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;
constexpr std::size_t kMaxManager = 128;
constexpr std::size_t kMaxSubresource = 256;
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

bool Contains(const Value& list, std::string_view item) {
  if (!list.is_array()) return false;
  return std::any_of(list.as_array().begin(), list.as_array().end(),
                     [&](const Value& v) { return v.string_or("") == item; });
}

void ValidateNames(const KindHooks& hooks, const Value& metadata, const FieldPath& path,
                   FieldErrors& errors) {
  const std::string_view format = hooks.metadata_last ? "path-segment" : hooks.name_format;
  if (const Value& prefix = metadata["generateName"]; !IsZero(prefix)) {
    const std::string masked = MaskTrailingDash(prefix.string_or(""));
    AddProblems(FormatProblems(format, masked), path.Child("generateName"), prefix, errors);
  }
  const Value& name = metadata["name"];
  if (IsZero(name)) return errors.Required(path.Child("name"), "name or generateName is required");
  AddProblems(FormatProblems(format, name.string_or("")), path.Child("name"), name, errors);
}

void ValidateNamespace(bool namespaced, const Value& ns, const FieldPath& path, FieldErrors& errors) {
  if (!namespaced) {
    if (!IsZero(ns)) errors.Forbidden(path, "not allowed on this type");
  } else if (IsZero(ns)) {
    errors.Required(path);
  } else {
    AddProblems(DnsLabelProblems(ns.string_or("")), path, ns, errors);
  }
}

void ValidateOwner(const Value& owner, const FieldPath& path, FieldErrors& errors) {
  const std::string_view api_version = owner["apiVersion"].string_or("");
  const std::size_t slash = api_version.find('/');
  const bool well_formed =
      slash == std::string_view::npos ||
      (slash + 1 < api_version.size() && api_version.find('/', slash + 1) == std::string_view::npos);
  if (!api_version.empty() && !well_formed)
    errors.Invalid(path.Child("apiVersion"), api_version, "must be <group>/<version> or <version>");
  for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
    if (IsZero(owner[field])) errors.Required(path.Child(field), "must not be empty");
  }
  if (api_version == "v1" && owner["kind"].string_or("") == "Event") {
    errors.Invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner");
  }
}

void ValidateOwners(const Value& owners, const FieldPath& path, FieldErrors& errors) {
  if (!owners.is_array()) return;
  std::string first;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const Value& owner = owners.as_array()[i];
    ValidateOwner(owner, path.Index(i), errors);
    if (!owner["controller"].bool_or(false)) continue;
    const std::string name =
        std::string(owner["kind"].string_or("")) + "/" + std::string(owner["name"].string_or(""));
    if (first.empty()) {
      first = name;
    } else {
      errors.Invalid(path, owners,
                     "Only one reference can have Controller set to true. Found \"true\" in references for " +
                         first + " and " + name);
    }
  }
}

void ValidateFinalizers(const Value& finalizers, const FieldPath& path, FieldErrors& errors) {
  if (!finalizers.is_array()) return;
  for (const Value& finalizer : finalizers.as_array()) {
    AddProblems(QualifiedNameProblems(finalizer.string_or("")), path, finalizer, errors);
  }
  if (Contains(finalizers, kOrphan) && Contains(finalizers, kForeground)) {
    errors.Invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
}

// Groups whose servers were once separate programs, and custom objects, know no standard finalizers.
bool AsksForDomains(const KindInfo& kind, const KindHooks& hooks) {
  return !kind.custom && !hooks.metadata_last && kind.group != "apiextensions.k8s.io" &&
         kind.group != "apiregistration.k8s.io";
}

// The built-in kinds' own rule: a finalizer without a domain must be one of the standard ones.
void ValidateFinalizerDomains(const Value& finalizers, const FieldPath& path, FieldErrors& errors) {
  if (!finalizers.is_array()) return;
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const std::string_view name = finalizers.as_array()[i].string_or("");
    const bool standard = name == "kubernetes" || name == kOrphan || name == kForeground;
    if (standard || name.find('/') != std::string_view::npos) continue;
    errors.Invalid(path.Index(i), name,
                   "name is neither a standard finalizer name nor is it fully qualified");
  }
}

void ValidateManagedEntry(const Value& entry, const FieldPath& path, FieldErrors& errors) {
  const std::string_view operation = entry["operation"].string_or("");
  if (operation.empty()) {
    errors.Required(path.Child("operation"), "must not be empty");
  } else if (operation != "Apply" && operation != "Update") {
    errors.NotSupported(path.Child("operation"), operation, {"Apply", "Update"});
  }
  const std::string_view type = entry["fieldsType"].string_or("");
  if (!type.empty() && type != "FieldsV1")
    errors.Invalid(path.Child("fieldsType"), type, "must be `FieldsV1`");
  if (entry["manager"].string_or("").size() > kMaxManager) errors.TooLong(path.Child("manager"), kMaxManager);
  if (entry["subresource"].string_or("").size() > kMaxSubresource) {
    errors.TooLong(path.Child("subresource"), kMaxSubresource);
  }
}

void ValidateManagedFields(const Value& entries, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < entries.size() && entries.is_array(); ++i) {
    ValidateManagedEntry(entries.as_array()[i], path.Index(i), errors);
  }
}

void ValidateNoNewFinalizers(const Value& finalizers, const Value& old, const FieldPath& path,
                             FieldErrors& errors) {
  if (!finalizers.is_array()) return;
  std::set<std::string_view> before;
  for (std::size_t i = 0; old.is_array() && i < old.size(); ++i)
    before.insert(old.as_array()[i].string_or(""));
  std::vector<std::string> added;
  for (const Value& finalizer : finalizers.as_array()) {
    if (!before.contains(finalizer.string_or(""))) added.emplace_back(finalizer.string_or(""));
  }
  if (added.empty()) return;
  std::sort(added.begin(), added.end());
  std::string list;
  for (const std::string& name : added) list += (list.empty() ? "" : ", ") + GoQuote(name);
  errors.Forbidden(
      path, "no new finalizers can be added if the object is being deleted, found new finalizers []string{" +
                list + "}");
}

void ValidateUpdateOnce(const Value& metadata, const Value& old, const FieldPath& path, FieldErrors& errors) {
  if (!IsZero(old["deletionTimestamp"])) {
    ValidateNoNewFinalizers(metadata["finalizers"], old["finalizers"], path.Child("finalizers"), errors);
  }
  if (IsZero(metadata["resourceVersion"])) {
    errors.Invalid(path.Child("resourceVersion"), "", "must be specified for an update");
  }
  if (metadata["generation"].int_or(0) < old["generation"].int_or(0)) {
    errors.Invalid(path.Child("generation"), metadata["generation"].int_or(0), "must not be decremented");
  }
  for (const char* field :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    ValidateUnchanged(metadata[field], old[field], path.Child(field), errors);
  }
  ValidateLabels(metadata["labels"], path.Child("labels"), errors);
  ValidateAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  ValidateOwners(metadata["ownerReferences"], path.Child("ownerReferences"), errors);
  ValidateManagedFields(metadata["managedFields"], path.Child("managedFields"), errors);
}

// What must hold of new and of changed objects.
void ValidateContents(const Value& metadata, const FieldPath& path, FieldErrors& errors) {
  ValidateLabels(metadata["labels"], path.Child("labels"), errors);
  ValidateAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  ValidateOwners(metadata["ownerReferences"], path.Child("ownerReferences"), errors);
  ValidateFinalizers(metadata["finalizers"], path.Child("finalizers"), errors);
  ValidateManagedFields(metadata["managedFields"], path.Child("managedFields"), errors);
}

void ValidateRequirement(const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  const std::string_view op = requirement["operator"].string_or("");
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() == 0) {
      errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values.size() > 0) {
      errors.Forbidden(path.Child("values"),
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
  const std::string_view key = requirement["key"].string_or("");
  AddProblems(QualifiedNameProblems(key), path.Child("key"), key, errors);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values.as_array()[i];
    AddProblems(LabelValueFormatProblems(value.string_or("")), path.Child("values").Index(i), value, errors);
  }
}

}  // namespace

void ValidateLabels(const Value& labels, const FieldPath& path, FieldErrors& errors) {
  if (!labels.is_object()) return;
  for (const auto& [key, value] : labels.as_object()) {
    AddProblems(QualifiedNameProblems(key), path, key, errors);
    AddProblems(LabelValueFormatProblems(value.string_or("")), path, value, errors);
  }
}

void ValidateAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors) {
  if (!annotations.is_object()) return;
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.as_object()) {
    AddProblems(QualifiedNameProblems(LowerCase(key)), path, key, errors);
    bytes += key.size() + value.string_or("").size();
  }
  if (bytes > kMaxAnnotationBytes) errors.TooLong(path, kMaxAnnotationBytes);
}

void ValidateLabelSelector(const Value& selector, const FieldPath& path, FieldErrors& errors) {
  ValidateLabels(selector["matchLabels"], path.Child("matchLabels"), errors);
  const Value& expressions = selector["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    ValidateRequirement(expressions.as_array()[i], path.Child("matchExpressions").Index(i), errors);
  }
}

bool IsUsableSelector(const json::Value& selector) {
  FieldErrors problems;
  ValidateLabelSelector(selector, FieldPath(), problems);
  return problems.empty();
}

void ValidateUnchanged(const Value& value, const Value& old, const FieldPath& path, FieldErrors& errors) {
  if (value == old || (IsZero(value) && IsZero(old))) return;
  errors.Invalid(path, value, kImmutableText);
}

void ValidateObjectMetaForCreate(const KindInfo& kind, const KindHooks& hooks, const Value& metadata,
                                 FieldErrors& errors) {
  const FieldPath path("metadata");
  ValidateNames(hooks, metadata, path, errors);
  ValidateNamespace(kind.namespaced, metadata["namespace"], path.Child("namespace"), errors);
  if (metadata["generation"].int_or(0) < 0) {
    errors.Invalid(path.Child("generation"), metadata["generation"], kNotNegativeText);
  }
  ValidateContents(metadata, path, errors);
  if (AsksForDomains(kind, hooks))
    ValidateFinalizerDomains(metadata["finalizers"], path.Child("finalizers"), errors);
}

void ValidateObjectMetaForUpdate(const KindInfo& kind, const KindHooks& hooks, const Value& metadata,
                                 const Value& old, FieldErrors& errors) {
  const FieldPath path("metadata");
  ValidateContents(metadata, path, errors);
  ValidateUpdateOnce(metadata, old, path, errors);
  ValidateUpdateOnce(metadata, old, path, errors);
  if (AsksForDomains(kind, hooks))
    ValidateFinalizerDomains(metadata["finalizers"], path.Child("finalizers"), errors);
}

}  // namespace flyball::api
