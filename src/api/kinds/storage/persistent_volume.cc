#include <array>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/claim_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/iscsi.h"
#include "api/kinds/shared/storage_warnings.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

// In upstream's order. Those with rules of their own in a persistent volume are in
// ValidatePersistentVolumeSource.
constexpr std::array<const char*, 21> kPersistentVolumeSources = {"hostPath",
                                                                  "gcePersistentDisk",
                                                                  "awsElasticBlockStore",
                                                                  "glusterfs",
                                                                  "flocker",
                                                                  "nfs",
                                                                  "rbd",
                                                                  "quobyte",
                                                                  "cephfs",
                                                                  "iscsi",
                                                                  "cinder",
                                                                  "fc",
                                                                  "flexVolume",
                                                                  "azureFile",
                                                                  "vsphereVolume",
                                                                  "photonPersistentDisk",
                                                                  "portworxVolume",
                                                                  "azureDisk",
                                                                  "scaleIO",
                                                                  "local",
                                                                  "storageos"};

void PreparePersistentVolumeForCreate(Value& object) {
  Value status = json::Object{{"phase", "Pending"}};
  const Value created = Get(object["metadata"], "creationTimestamp");
  if (!created.is_null()) status["lastPhaseTransitionTime"] = created;
  object["status"] = std::move(status);
}

// A phase that stays keeps the time since when it holds.
void PreparePersistentVolumeStatusUpdate(Value& object, const Value& old) {
  const char* const kSince = "lastPhaseTransitionTime";
  const Value& before = old["status"];
  if (Text(Get(object, "status"), "phase") != Text(before, "phase") || !Has(before, kSince)) return;
  SetIfAbsent(object["status"], kSince, before[kSince]);
}

void CheckSecretRef(const Value& secret, const FieldPath& path, FieldErrors& errors) {
  if (secret.is_null()) return;
  const auto check = [&](const char* field, std::string_view format) {
    if (Text(secret, field).empty()) return errors.Required(path.Child(field));
    CheckFormat(format, Text(secret, field), path.Child(field), errors);
  };
  check("name", "dns-subdomain");
  check("namespace", "dns-label");
}

void ValidateCsi(const Value& csi, const FieldPath& path, FieldErrors& errors) {
  ValidateCsiDriverName(Text(csi, "driver"), path.Child("driver"), errors);
  RequireMembers(csi, {"volumeHandle"}, path, errors);
  for (const char* ref : {"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
                          "nodeExpandSecretRef"}) {
    CheckSecretRef(csi[ref], path.Child(ref), errors);
  }
}

void ValidateLocal(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view local_path = Text(spec["local"], "path");
  if (local_path.empty()) {
    errors.Required(path.Child("local").Child("path"));
  } else {
    CheckNoBacksteps(local_path, path.Child("local").Child("path"), errors);
  }
  if (!Has(spec, "nodeAffinity")) {
    errors.Required(path.Child("nodeAffinity"), "Local volume requires node affinity");
  }
}

void ValidatePersistentVolumeSource(std::string_view name, const Value& object, const FieldPath& path,
                                    FieldErrors& errors) {
  const Value& spec = object["spec"];
  const Value& source = spec[name];
  const FieldPath here = path.Child(name);
  if (name == "local") return ValidateLocal(spec, path, errors);
  if (name == "csi") return ValidateCsi(source, here, errors);
  if (name == "iscsi")
    return ValidateIscsiPersistentVolume(source, Text(object["metadata"], "name"), here, errors);
  ValidateVolumeSource(name, source, path, errors);
  const bool secret_namespace = (name == "cinder" || name == "storageos") && Has(source, "secretRef");
  if (secret_namespace) RequireMembers(source["secretRef"], {"namespace"}, here.Child("secretRef"), errors);
}

void ValidatePersistentVolumeSources(const Value& object, const FieldPath& path, FieldErrors& errors) {
  bool found = false;
  const auto visit = [&](std::string_view name) {
    if (!Has(object["spec"], name)) return;
    if (found) {
      errors.Forbidden(path.Child(name == "cephfs" ? "cephFS" : name),
                       "may not specify more than 1 volume type");
    } else {
      ValidatePersistentVolumeSource(name, object, path, errors);
    }
    found = true;
  };
  for (const char* name : kPersistentVolumeSources) visit(name);
  visit("csi");
  if (!found) errors.Required(path, "must specify a volume type");
}

void ValidatePersistentVolumeCapacity(const Value& capacity, const FieldPath& path, FieldErrors& errors) {
  if (capacity.size() == 0) errors.Required(path);
  if (!Has(capacity, "storage") || capacity.size() > 1) {
    errors.NotSupported(path, capacity.is_null() ? Value(json::Object{}) : capacity, {"storage"});
  }
  for (const auto& [name, quantity] : Entries(capacity)) {
    const Quantity size = QuantityOf(quantity);
    if (size.Value() < 0) errors.Invalid(path.Key(name), size.Value(), "must be a valid resource quantity");
    if (size.Sign() <= 0) errors.Invalid(path.Key(name), size.ToString(), "must be greater than zero");
  }
}

void ValidatePersistentVolumeNodeAffinity(const Value& affinity, const FieldPath& path, FieldErrors& errors) {
  if (affinity.is_null()) return;
  if (!Has(affinity, "required")) {
    return errors.Required(path.Child("required"), "must specify required node constraints");
  }
  ValidateNodeSelector(affinity["required"], path.Child("required"), errors);
}

void ValidatePersistentVolumeAttributesClass(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "volumeAttributesClassName")) return;
  const std::string_view name = Text(spec, "volumeAttributesClassName");
  const FieldPath here = path.Child("volumeAttributesClassName");
  if (name.empty()) {
    errors.Required(here, "an empty string is disallowed");
  } else {
    CheckFormat("dns-subdomain", name, here, errors);
  }
  if (!Has(spec, "csi"))
    errors.Required(path.Child("csi"), "has to be specified when using volumeAttributesClassName");
}

void ValidatePersistentVolume(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  if (spec["accessModes"].size() == 0) errors.Required(path.Child("accessModes"));
  ValidateAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  ValidatePersistentVolumeCapacity(spec["capacity"], path.Child("capacity"), errors);
  const std::string_view reclaim = Text(spec, "persistentVolumeReclaimPolicy");
  const FieldPath reclaim_path = path.Child("persistentVolumeReclaimPolicy");
  if (!reclaim.empty()) CheckOneOf(reclaim, {"Delete", "Recycle", "Retain"}, reclaim_path, errors);
  ValidatePersistentVolumeNodeAffinity(spec["nodeAffinity"], path.Child("nodeAffinity"), errors);
  ValidatePersistentVolumeSources(object, path, errors);
  if (Text(spec["hostPath"], "path") == "/" && reclaim == "Recycle") {
    errors.Forbidden(reclaim_path, "may not be 'recycle' for a hostPath mount of '/'");
  }
  if (const std::string_view name = Text(spec, "storageClassName"); !name.empty()) {
    CheckFormat("dns-subdomain", name, path.Child("storageClassName"), errors);
  }
  if (Has(spec, "volumeMode")) {
    CheckOneOf(Text(spec, "volumeMode"), {"Block", "Filesystem"}, path.Child("volumeMode"), errors);
  }
  ValidatePersistentVolumeAttributesClass(spec, path, errors);
}

Value SourcesOf(const Value& spec) {
  Value sources = json::Object{};
  for (const char* name : kPersistentVolumeSources) {
    if (Has(spec, name)) sources[name] = spec[name];
  }
  if (Has(spec, "csi")) sources["csi"] = spec["csi"];
  return sources;
}

void ValidatePersistentVolumeUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  Value sources = SourcesOf(spec);
  if (Has(before, "csi") && !Has(before["csi"], "controllerExpandSecretRef") && Has(sources, "csi")) {
    Remove(sources["csi"], "controllerExpandSecretRef");
  }
  if (const Value old_sources = SourcesOf(before); sources != old_sources) {
    errors.Forbidden(FieldPath("spec.persistentvolumesource"),
                     "spec.persistentvolumesource is immutable after creation\n" +
                         GoDifference("io.k8s.api.core.v1.PersistentVolumeSource", old_sources, sources));
  }
  ValidateUnchanged(spec["volumeMode"], before["volumeMode"], FieldPath("volumeMode"), errors);
  if (Has(before, "nodeAffinity") && spec["nodeAffinity"] != before["nodeAffinity"]) {
    errors.Invalid(FieldPath("nodeAffinity"),
                   GoInternal("io.k8s.api.core.v1.VolumeNodeAffinity", spec["nodeAffinity"]),
                   std::string(kImmutableText) + ", except for updating from beta label to GA");
  }
  if (Has(before, "volumeAttributesClassName") && !Has(spec, "volumeAttributesClassName")) {
    errors.Forbidden(FieldPath("spec.volumeAttributesClassName"),
                     "update from non-nil value to nil is forbidden");
  }
}

}  // namespace

const KindHooks kPersistentVolumeHooks = {
    .group = "",
    .kind = "PersistentVolume",
    .prepare_for_create = PreparePersistentVolumeForCreate,
    .prepare_for_status_update = PreparePersistentVolumeStatusUpdate,
    .validate = ValidatePersistentVolume,
    .validate_update = ValidatePersistentVolumeUpdate,
    .return_deleted_object = true,
    .warnings = WarnOfPersistentVolume,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
