#include <string>

#include "api/kinds/shared/claim_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/resource_names.h"
#include "api/kinds/shared/storage_warnings.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr const char* kPersistentVolumeClaimClassAnnotation = "volume.beta.kubernetes.io/storage-class";

// Other sources than claims and snapshots can be named by dataSourceRef only: under the old name they were
// never honoured, and are dropped without a word.
bool IsOldDataSource(const Value& source) {
  const std::string_view kind = Text(source, "kind"), group = Text(source, "apiGroup");
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

// dataSource is the old name of dataSourceRef, for claims and snapshots in the same namespace.
void SetPersistentVolumeClaimDefaults(Value& object) {
  Value* found = object.Find("spec");
  if (found == nullptr || !found->is_object()) return;
  Value& spec = *found;
  if (Has(spec, "dataSource") && !Has(spec, "dataSourceRef") && !IsOldDataSource(spec["dataSource"])) {
    Remove(spec, "dataSource");
  } else if (Has(spec, "dataSource") && !Has(spec, "dataSourceRef")) {
    spec["dataSourceRef"] = Value(spec["dataSource"]);
  } else if (Has(spec, "dataSourceRef") && !Has(spec, "dataSource") &&
             Text(spec["dataSourceRef"], "namespace").empty()) {
    const std::string_view kind = Text(spec["dataSourceRef"], "kind");
    if (kind == "PersistentVolumeClaim" || kind == "VolumeSnapshot")
      spec["dataSource"] = Value(spec["dataSourceRef"]);
  }
}

void PreparePersistentVolumeClaimForCreate(Value& object) {
  object["status"] = json::Object{{"phase", "Pending"}};
}

void ValidatePersistentVolumeClaim(const Value& object, FieldErrors& errors) {
  ValidateClaimSpec(object["spec"], FieldPath("spec"), errors);
}

void Restore(Value& spec, const Value& old, const char* field) {
  if (Has(old, field)) {
    spec[field] = old[field];
  } else {
    Remove(spec, field);
  }
}

// The new spec with what a claim may change put back as it was.
Value ClaimWithoutAllowedChanges(const Value& object, const Value& old) {
  Value spec = object["spec"];
  const Value& before = old["spec"];
  if (Text(before, "volumeName").empty()) Restore(spec, before, "volumeName");
  if (!Has(before, "storageClassName")) Restore(spec, before, "storageClassName");
  if (Text(object["status"], "phase") == "Bound") {
    if (Has(before["resources"]["requests"], "storage")) {
      spec["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"];
    }
    if (Has(spec, "volumeAttributesClassName")) Restore(spec, before, "volumeAttributesClassName");
  }
  return spec;
}

void CheckAttributesClass(const Value& spec, const Value& old, FieldErrors& errors) {
  if (!Has(old, "volumeAttributesClassName") ||
      spec["volumeAttributesClassName"] == old["volumeAttributesClassName"])
    return;
  const FieldPath path("spec.volumeAttributesClassName");
  if (!Has(spec, "volumeAttributesClassName")) {
    errors.Forbidden(path, "update from non-nil value to nil is forbidden");
  } else if (Text(spec, "volumeAttributesClassName").empty()) {
    errors.Forbidden(path, "update from non-nil value to an empty string is forbidden");
  }
}

void ValidatePersistentVolumeClaimUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  const Value& annotations = object["metadata"]["annotations"];
  if (Text(annotations, kPersistentVolumeClaimClassAnnotation) !=
      Text(old["metadata"]["annotations"], kPersistentVolumeClaimClassAnnotation)) {
    errors.Invalid(FieldPath("metadata.annotations").Child(kPersistentVolumeClaimClassAnnotation),
                   Text(annotations, kPersistentVolumeClaimClassAnnotation), kImmutableText);
  }
  const Value munged = ClaimWithoutAllowedChanges(object, old);
  if (munged != before) {
    errors.Forbidden(
        FieldPath("spec"),
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
        "bound claims\n" +
            GoDifference("io.k8s.api.core.v1.PersistentVolumeClaimSpec", before, munged));
  }
  const Quantity size = QuantityOf(spec["resources"]["requests"]["storage"]);
  const bool smaller = size < QuantityOf(before["resources"]["requests"]["storage"]);
  if (smaller && size <= QuantityOf(old["status"]["capacity"]["storage"])) {
    errors.Forbidden(FieldPath("spec.resources.requests.storage"),
                     "field can not be less than status.capacity");
  }
  ValidateUnchanged(spec["volumeMode"], before["volumeMode"], FieldPath("volumeMode"), errors);
  CheckAttributesClass(spec, before, errors);
}

void ValidatePersistentVolumeClaimStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  for (const auto& [name, quantity] : Entries(object["status"]["capacity"])) {
    const std::int64_t value = QuantityOf(quantity).Value();
    if (value < 0)
      errors.Invalid(FieldPath("status.capacity").Key(name), value, "must be a valid resource quantity");
  }
}

}  // namespace

const KindHooks kPersistentVolumeClaimHooks = {
    .group = "",
    .kind = "PersistentVolumeClaim",
    .set_defaults = SetPersistentVolumeClaimDefaults,
    .prepare_for_create = PreparePersistentVolumeClaimForCreate,
    .validate = ValidatePersistentVolumeClaim,
    .validate_update = ValidatePersistentVolumeClaimUpdate,
    .validate_status_update = ValidatePersistentVolumeClaimStatusUpdate,
    .return_deleted_object = true,
    .warnings = WarnOfPersistentVolumeClaim,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
