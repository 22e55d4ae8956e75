// The storage kinds that have no more than a few rules each.
#include "api/format.h"
#include "api/kinds/access.h"
#include "api/kinds/checks.h"
#include "api/kinds/hooks.h"
#include "api/kinds/iscsi.h"
#include "api/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kStorageKindsGroup = "storage.k8s.io";

void ValidateDriver(const Value& object, FieldErrors& errors) {
  ValidateCsiDriverName(Text(object["metadata"], "name"), FieldPath("name"), errors);
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  for (const char* field : {"attachRequired", "podInfoOnMount", "storageCapacity"}) {
    if (!Has(spec, field)) errors.Required(path.Child(field));
  }
  if (Has(spec, "fsGroupPolicy")) {
    CheckOneOf(Text(spec, "fsGroupPolicy"), {"File", "None", "ReadWriteOnceWithFSType"},
               path.Child("fsGroupPolicy"), errors);
  }
  const Value& requests = spec["tokenRequests"];
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Value& seconds = requests.as_array()[i]["expirationSeconds"];
    if (!seconds.is_null() && seconds.int_or(0) < 600) {
      errors.Invalid(path.Child("tokenRequests").Index(i).Child("expirationSeconds"), seconds,
                     "may not specify a duration less than 10 minutes");
    }
  }
  const Value& modes = spec["volumeLifecycleModes"];
  for (std::size_t i = 0; i < modes.size(); ++i) {
    CheckOneOf(modes.as_array()[i].string_or({}), {"Ephemeral", "Persistent"},
               path.Child("volumeLifecycleModes"), errors);
  }
}

void ValidateDriverUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  for (const char* field : {"attachRequired", "fsGroupPolicy", "volumeLifecycleModes"}) {
    ValidateUnchanged(object["spec"][field], old["spec"][field], FieldPath("spec").Child(field), errors);
  }
}

void ValidateAttachment(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateCsiDriverName(Text(spec, "attacher"), path.Child("attacher"), errors);
  const Value& source = spec["source"];
  const bool inline_volume = Has(source, "inlineVolumeSpec"), named = Has(source, "persistentVolumeName");
  if (!inline_volume && !named) {
    errors.Required(path.Child("source"),
                    "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (inline_volume && named) {
    errors.Forbidden(path.Child("source"),
                     "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (named) {
    const std::string_view name = Text(source, "persistentVolumeName");
    if (name.empty()) {
      errors.Required(path.Child("source").Child("persistentVolumeName"),
                      "must specify non empty persistentVolumeName");
    } else {
      CheckFormat("dns-subdomain", name, path.Child("source").Child("persistentVolumeName"), errors);
    }
  }
  CheckFormat("dns-subdomain", Text(spec, "nodeName"), path.Child("nodeName"), errors);
}

void ValidateAttachmentUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["spec"] != old["spec"]) {
    errors.Invalid(FieldPath("spec"), object["spec"], kImmutableText);
  }
}

void ValidateStorageKindsAttributesClass(const Value& object, FieldErrors& errors) {
  ValidateCsiDriverName(Text(object, "driverName"), FieldPath("driverName"), errors);
  if (object["parameters"].size() == 0)
    errors.Required(FieldPath("parameters"), "must contain at least one key/value pair");
}

void ValidateAttributesClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["driverName"] != old["driverName"]) {
    errors.Forbidden(FieldPath("driverName"), "updates to driverName are forbidden.");
  }
  if (object["parameters"] != old["parameters"]) {
    errors.Forbidden(FieldPath("parameters"), "updates to parameters are forbidden.");
  }
}

void ValidateStorageKindsCapacity(const Value& object, FieldErrors& errors) {
  ValidateLabelSelector(object["nodeTopology"], FieldPath("nodeTopology"), errors);
  CheckFormat("dns-subdomain", Text(object, "storageClassName"), FieldPath("storageClassName"), errors);
  for (const char* field : {"capacity", "maximumVolumeSize"}) {
    if (Has(object, field) && QuantityOf(object[field]).Sign() < 0) {
      errors.Invalid(FieldPath(field), object[field], kNotNegativeText);
    }
  }
}

void ValidateCapacityUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["nodeTopology"], old["nodeTopology"], FieldPath("nodeTopology"), errors);
  ValidateUnchanged(object["storageClassName"], old["storageClassName"], FieldPath("storageClassName"),
                    errors);
}

}  // namespace

const KindHooks kCsiDriverHooks = {
    .group = kStorageKindsGroup,
    .kind = "CSIDriver",
    .validate = ValidateDriver,
    .validate_update = ValidateDriverUpdate,
    .allow_unconditional_update = false,
    .return_deleted_object = true,
};
const KindHooks kCsiNodeHooks = {.group = kStorageKindsGroup,
                                 .kind = "CSINode",
                                 .allow_unconditional_update = false,
                                 .return_deleted_object = true};
const KindHooks kCsiStorageCapacityHooks = {
    .group = kStorageKindsGroup,
    .kind = "CSIStorageCapacity",
    .validate = ValidateStorageKindsCapacity,
    .validate_update = ValidateCapacityUpdate,
    .allow_unconditional_update = false,
};
const KindHooks kVolumeAttachmentHooks = {
    .group = kStorageKindsGroup,
    .kind = "VolumeAttachment",
    .validate = ValidateAttachment,
    .validate_update = ValidateAttachmentUpdate,
    .allow_unconditional_update = false,
    .return_deleted_object = true,
};
const KindHooks kVolumeAttributesClassHooks = {
    .group = kStorageKindsGroup,
    .kind = "VolumeAttributesClass",
    .validate = ValidateStorageKindsAttributesClass,
    .validate_update = ValidateAttributesClassUpdate,
    .return_deleted_object = true,
};

}  // namespace flyball::api
