#include "api/kinds/shared/claim_spec.h"

#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateStorage(const Value& requests, const FieldPath& path, FieldErrors& errors) {
  const Value* storage = requests.Find("storage");
  if (storage == nullptr) return errors.Required(path);
  const Quantity size = QuantityOf(*storage);
  if (size.Sign() <= 0) return errors.Invalid(path, size.ToString(), "must be greater than zero");
  CheckResourceQuantity("storage", *storage, path, errors);
}

void ValidateDataSource(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"name", "kind"}, path, errors);
  const std::string_view group = Text(source, "apiGroup");
  if (group.empty() && Text(source, "kind") != "PersistentVolumeClaim") {
    errors.Invalid(path, source["kind"],
                   "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
  if (!group.empty()) CheckFormat("dns-subdomain", group, path.Child("apiGroup"), errors);
}

bool SameSource(const Value& a, const Value& b) {
  return a["apiGroup"] == b["apiGroup"] && a["kind"] == b["kind"] && a["name"] == b["name"];
}

void ValidateDataSources(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& source = spec["dataSource"];
  const Value& ref = spec["dataSourceRef"];
  if (!source.is_null()) ValidateDataSource(source, path.Child("dataSource"), errors);
  if (!ref.is_null()) ValidateDataSource(ref, path.Child("dataSourceRef"), errors);
  if (source.is_null() || ref.is_null()) return;
  const std::string shown = path.Child("dataSource").text();
  if (!Text(ref, "namespace").empty()) {
    errors.Invalid(path, shown, "may not be specified when dataSourceRef.namespace is specified");
  } else if (!SameSource(source, ref)) {
    errors.Invalid(path, shown, "must match dataSourceRef");
  }
}

}  // namespace

void ValidateAccessModes(const Value& modes, const FieldPath& path, FieldErrors& errors) {
  bool exclusive = false, shared = false;
  for (const Value& mode : Items(modes)) {
    const std::string_view text = mode.string_or({});
    FieldErrors wrong;
    CheckOneOf(text, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, path, wrong);
    exclusive = exclusive || text == "ReadWriteOncePod";
    shared = shared || (text != "ReadWriteOncePod" && wrong.empty());
    errors.Append(std::move(wrong));
  }
  if (exclusive && shared) errors.Forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

void ValidateClaimSpec(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& modes = spec["accessModes"];
  if (modes.size() == 0) errors.Required(path.Child("accessModes"), "at least 1 access mode is required");
  ValidateLabelSelector(spec["selector"], path.Child("selector"), errors);
  ValidateAccessModes(modes, path.Child("accessModes"), errors);
  ValidateStorage(spec["resources"]["requests"], path.Child("resources").Key("storage"), errors);
  if (const std::string_view name = Text(spec, "storageClassName"); !name.empty()) {
    CheckFormat("dns-subdomain", name, path.Child("storageClassName"), errors);
  }
  if (Has(spec, "volumeMode")) {
    CheckOneOf(Text(spec, "volumeMode"), {"Block", "Filesystem"}, path.Child("volumeMode"), errors);
  }
  ValidateDataSources(spec, path, errors);
  if (const std::string_view name = Text(spec, "volumeAttributesClassName"); !name.empty()) {
    CheckFormat("dns-subdomain", name, path.Child("volumeAttributesClassName"), errors);
  }
}

void ValidateClaimTemplate(const Value& claim, const FieldPath& path, FieldErrors& errors) {
  const Value& metadata = claim["metadata"];
  ValidateAnnotations(metadata["annotations"], path.Child("metadata").Child("annotations"), errors);
  ValidateLabels(metadata["labels"], path.Child("metadata").Child("labels"), errors);
  for (const auto& [name, value] : Entries(metadata)) {
    if (name == "annotations" || name == "labels" || name == "creationTimestamp") continue;
    errors.Forbidden(path.Child("metadata").Child(name), "cannot be set");
  }
  ValidateClaimSpec(claim["spec"], path.Child("spec"), errors);
}

}  // namespace flyball::api
