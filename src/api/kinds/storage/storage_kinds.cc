// The storage kinds that have no more than a few rules each.
#include <set>

#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/iscsi.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kStorageKindsGroup = "storage.k8s.io";

// Only changes of what may change are counted.
void CountDriverChanges(Value& object, const Value& old) {
  bool changed = false;
  for (const char* field :
       {"tokenRequests", "requiresRepublish", "seLinuxMount", "nodeAllocatableUpdatePeriodSeconds",
        "serviceAccountTokenInSecrets", "preventPodSchedulingIfMissing"})
    changed |= Get(Get(object, "spec"), field) != old["spec"][field];
  if (changed) object["metadata"]["generation"] = Number(old["metadata"], "generation") + 1;
}

void ValidateTokenRequests(const Value& requests, const FieldPath& list, FieldErrors& errors) {
  constexpr std::int64_t kShortest = 600, kLongest = std::int64_t{1} << 32;
  std::set<std::string_view> audiences;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string_view audience = Text(requests.as_array()[i], "audience");
    const Value& seconds = requests.as_array()[i]["expirationSeconds"];
    const FieldPath here = list.Index(i).Child("expirationSeconds");
    if (!audiences.insert(audience).second) {
      errors.Duplicate(list.Index(i).Child("audience"), audience);
    } else if (!seconds.is_null() && seconds.int_or(0) < kShortest) {
      errors.Invalid(here, seconds, "may not specify a duration less than 10 minutes");
    } else if (seconds.int_or(0) > kLongest) {
      errors.Invalid(here, seconds, "may not specify a duration larger than 2^32 seconds");
    }
  }
}

void ValidateDriver(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  if (!Has(spec, "attachRequired")) errors.Required(path.Child("attachedRequired"));
  for (const char* field : {"podInfoOnMount", "storageCapacity"}) {
    if (!Has(spec, field)) errors.Required(path.Child(field));
  }
  if (Has(spec, "fsGroupPolicy")) {
    CheckOneOf(Text(spec, "fsGroupPolicy"), {"File", "None", "ReadWriteOnceWithFSType"},
               path.Child("fsGroupPolicy"), errors);
  }
  ValidateTokenRequests(spec["tokenRequests"], path.Child("tokenRequests"), errors);
  const Value& modes = spec["volumeLifecycleModes"];
  for (std::size_t i = 0; i < modes.size(); ++i) {
    CheckOneOf(modes.as_array()[i].string_or({}), {"Persistent", "Ephemeral"},
               path.Child("volumeLifecycleModes"), errors);
  }
  constexpr std::int64_t kShortestPeriod = 10;
  const Value& period = spec["nodeAllocatableUpdatePeriodSeconds"];
  if (!period.is_null() && period.int_or(0) < kShortestPeriod)
    errors.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), period,
                   "must be greater than or equal to 10 seconds");
  if (Has(spec, "serviceAccountTokenInSecrets") && spec["tokenRequests"].size() == 0)
    errors.Invalid(path.Child("serviceAccountTokenInSecrets"), spec["serviceAccountTokenInSecrets"],
                   "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

void WarnOfDriver(const Value& object, std::vector<std::string>& out) {
  const Value& spec = object["spec"];
  if (spec["tokenRequests"].size() == 0 || Has(spec, "serviceAccountTokenInSecrets")) return;
  out.emplace_back(
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
      "possible "
      "logging of tokens in volume attributes");
}

void ValidateDriverUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  ValidateUnchanged(object["spec"]["attachRequired"], old["spec"]["attachRequired"],
                    path.Child("attachedRequired"), errors);
  ValidateUnchanged(object["spec"]["volumeLifecycleModes"], old["spec"]["volumeLifecycleModes"],
                    path.Child("volumeLifecycleModes"), errors);
}

constexpr std::size_t kMaxCsiNodeId = 192;

void ValidateTopologyKeys(const Value& driver, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (const Value& item : Items(driver["topologyKeys"])) {
    const std::string_view key = item.string_or({});
    if (key.empty()) errors.Required(path, key);
    if (!seen.insert(key).second) errors.Duplicate(path, key);
    AddProblems(QualifiedNameProblems(key), path, key, errors);
  }
}

void ValidateCsiNode(const Value& object, FieldErrors& errors) {
  const json::Array& drivers = Items(object["spec"]["drivers"]);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const FieldPath path = FieldPath("spec.drivers").Index(i);
    const std::string_view name = Text(drivers[i], "name"), id = Text(drivers[i], "nodeID");
    ValidateCsiDriverName(name, path.Child("name"), errors);
    if (id.empty()) errors.Required(path.Child("nodeID"));
    if (id.size() > kMaxCsiNodeId)
      errors.Invalid(path.Child("nodeID"), id,
                     "must be " + std::to_string(kMaxCsiNodeId) + " characters or less");
    const Value& count = drivers[i]["allocatable"]["count"];
    if (!count.is_null()) CheckNotNegative(count, path.Child("allocatable").Child("count"), errors);
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
    ValidateTopologyKeys(drivers[i], path, errors);
  }
}

// Drivers come and go; what is known of one does not change, but for how many volumes it takes.
void ValidateCsiNodeUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  for (const Value& before : Items(old["spec"]["drivers"])) {
    for (const Value& now : Items(object["spec"]["drivers"])) {
      if (now["name"] != before["name"]) continue;
      if (now["nodeID"] == before["nodeID"] && now["topologyKeys"] == before["topologyKeys"]) continue;
      errors.Invalid(FieldPath("spec.drivers"), GoInternal("io.k8s.api.storage.v1.CSINodeDriver", now),
                     kImmutableText);
    }
  }
}

void ValidateAttachment(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateCaselessDriverName(Text(spec, "attacher"), path.Child("attacher"), errors.declarative());
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
    if (name.empty())
      errors.Required(path.Child("source").Child("persistentVolumeName"),
                      "must specify non empty persistentVolumeName");
    CheckFormat("dns-subdomain", name, path.Child("source").Child("persistentVolumeName"),
                errors.declarative());
  }
  CheckFormat("dns-subdomain", Text(spec, "nodeName"), path.Child("nodeName"), errors);
}

void ValidateAttachmentUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["spec"] != old["spec"]) {
    errors.declarative().Invalid(FieldPath("spec"), Value(), kImmutableText);
  }
}

void ValidateStorageKindsAttributesClass(const Value& object, FieldErrors& errors) {
  const std::string driver = LowerCase(Text(object, "driverName"));
  if (driver.empty()) {
    errors.Required(FieldPath("driverName"));
  } else {
    CheckFormat("qualified-name", driver, FieldPath("driverName"), errors);
  }
  for (const auto& [key, value] : Entries(object["parameters"]))
    if (key.empty()) errors.Invalid(FieldPath("parameters"), key, "field can not be empty.");
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
  ValidateStorageKindsAttributesClass(object, errors);
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
    .prepare_for_update = CountDriverChanges,
    .validate = ValidateDriver,
    .validate_update = ValidateDriverUpdate,
    .allow_unconditional_update = false,
    .return_deleted_object = true,
    .warnings = WarnOfDriver,
    .warn_on = KindHooks::WarnOn::kCreate,
};
const KindHooks kCsiNodeHooks = {.group = kStorageKindsGroup,
                                 .kind = "CSINode",
                                 .validate = ValidateCsiNode,
                                 .validate_update = ValidateCsiNodeUpdate,
                                 .status_keeps_metadata = true,
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
    .status_keeps_metadata = true,
    .allow_unconditional_update = false,
    .return_deleted_object = true,
};
const KindHooks kVolumeAttributesClassHooks = {
    .group = kStorageKindsGroup,
    .kind = "VolumeAttributesClass",
    .validate = ValidateStorageKindsAttributesClass,
    .validate_update = ValidateAttributesClassUpdate,
    .validate_update_alone = true,
    .return_deleted_object = true,
};

}  // namespace flyball::api
