// The rows of volumes, claims, storage classes, drivers and devices.
#include "api/tables/printer.h"

namespace flyball::api {

namespace {

constexpr std::string_view kBetaClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::string AccessModes(const json::Value& modes) {
  static constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"ReadWriteOnce", "RWO"},
                                                                             {"ReadOnlyMany", "ROX"},
                                                                             {"ReadWriteMany", "RWX"},
                                                                             {"ReadWriteOncePod", "RWOP"}};
  std::string out;
  for (const auto& [mode, text] : kShort) {
    for (const auto& given : Elements(modes)) {
      if (given.string_or("") != mode) continue;
      out += (out.empty() ? "" : ",") + std::string(text);
      break;
    }
  }
  return out;
}

std::string_view StorageClassOf(const json::Value& object) {
  const auto* beta = object["metadata"]["annotations"].Find(kBetaClassAnnotation);
  return beta != nullptr ? beta->string_or("") : object["spec"]["storageClassName"].string_or("");
}

std::string_view PhaseOf(const json::Value& object) {
  return IsDeleting(object) ? "Terminating" : object["status"]["phase"].string_or("");
}

void PrintPersistentVolume(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& claim = spec["claimRef"];
  row.Name(object);
  row.Text(QuantityCell(spec["capacity"]["storage"]));
  row.Text(AccessModes(spec["accessModes"]));
  row.Text(spec["persistentVolumeReclaimPolicy"].string_or(""));
  row.Text(PhaseOf(object));
  row.Text(claim.is_object() ? std::string(claim["namespace"].string_or("")) + '/' +
                                   std::string(claim["name"].string_or(""))
                             : std::string());
  row.Text(StorageClassOf(object));
  row.Text(spec["volumeAttributesClassName"].string_or(kUnsetText));
  row.Text(object["status"]["reason"].string_or(""));
  row.Created(object);
  row.Text(spec["volumeMode"].string_or(kUnsetText));
}

void PrintPersistentVolumeClaim(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& status = object["status"];
  const auto volume = spec["volumeName"].string_or("");
  row.Name(object);
  row.Text(PhaseOf(object));
  row.Text(volume);
  row.Text(volume.empty() ? std::string() : QuantityCell(status["capacity"]["storage"]));
  row.Text(volume.empty() ? std::string() : AccessModes(status["accessModes"]));
  row.Text(StorageClassOf(object));
  row.Text(spec["volumeAttributesClassName"].string_or(kUnsetText));
  row.Created(object);
  row.Text(spec["volumeMode"].string_or(kUnsetText));
}

void PrintStorageClass(const json::Value& object, RowWriter& row) {
  const auto& annotations = object["metadata"]["annotations"];
  std::string name(object["metadata"]["name"].string_or(""));
  if (annotations["storageclass.kubernetes.io/is-default-class"].string_or("") == "true" ||
      annotations["storageclass.beta.kubernetes.io/is-default-class"].string_or("") == "true")
    name += " (default)";
  row.Text(name);
  row.Text(object["provisioner"].string_or(""));
  row.Text(object["reclaimPolicy"].string_or("Delete"));
  row.Text(object["volumeBindingMode"].string_or("Immediate"));
  row.Bool(object["allowVolumeExpansion"].bool_or(false));
  row.Created(object);
}

void PrintVolumeAttributesClass(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["driverName"].string_or(""));
  row.Created(object);
}

void PrintVolumeAttachment(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  row.Name(object);
  row.Text(spec["attacher"].string_or(""));
  row.Text(spec["source"]["persistentVolumeName"].string_or(""));
  row.Text(spec["nodeName"].string_or(""));
  row.Bool(object["status"]["attached"].bool_or(false));
  row.Created(object);
}

void PrintCsiDriver(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto modes = JoinStrings(spec["volumeLifecycleModes"]);
  row.Name(object);
  row.Bool(spec["attachRequired"].bool_or(true));
  row.Bool(spec["podInfoOnMount"].bool_or(false));
  row.Bool(spec["storageCapacity"].bool_or(false));
  row.Text(spec["tokenRequests"].is_array() ? JoinMember(spec["tokenRequests"], "audience")
                                            : std::string(kUnsetText));
  row.Bool(spec["requiresRepublish"].bool_or(false));
  row.Text(modes.empty() ? kNoneText : std::string_view(modes));
  row.Created(object);
}

void PrintCsiNode(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(static_cast<std::int64_t>(object["spec"]["drivers"].size()));
  row.Created(object);
}

std::string ClaimState(const json::Value& claim) {
  std::string out = IsDeleting(claim) ? "deleted" : "";
  if (claim["status"]["allocation"].is_null()) return out.empty() ? "pending" : out;
  out += out.empty() ? "allocated" : ",allocated";
  if (!claim["status"]["reservedFor"].empty()) out += ",reserved";
  return out;
}

void PrintResourceClaim(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(ClaimState(object));
  row.Created(object);
}

void PrintNameAndAge(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Created(object);
}

void PrintResourceSlice(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  row.Name(object);
  row.Text(spec["nodeName"].string_or(""));
  row.Text(spec["driver"].string_or(""));
  row.Text(spec["pool"]["name"].string_or(""));
  row.Created(object);
}

void PrintDeviceTaintRule(const json::Value& object, RowWriter& row) {
  const auto& taint = object["spec"]["taint"];
  row.Name(object);
  for (const char* field : {"key", "value", "effect"}) row.Text(taint[field].string_or(""));
  row.Text(taint["timeAdded"].is_null() ? std::string() : row.Since(taint["timeAdded"]));
  row.Created(object);
}

void PrintStorageVersionMigration(const json::Value& object, RowWriter& row) {
  const auto& resource = object["spec"]["resource"];
  const auto group = resource["group"].string_or("");
  std::string status = "Unknown";
  for (const auto& condition : Elements(object["status"]["conditions"])) {
    const auto type = condition["type"].string_or("");
    if (condition["status"].string_or("") == "True" &&
        (type == "Running" || type == "Failed" || type == "Succeeded"))
      status = type;
  }
  row.Name(object);
  row.Text(std::string(resource["resource"].string_or("")) + (group.empty() ? "" : ".") + std::string(group));
  row.Text(status);
}

}  // namespace

std::vector<PrinterEntry> StoragePrinters() {
  return {
      {"", "PersistentVolume", PrintPersistentVolume},
      {"", "PersistentVolumeClaim", PrintPersistentVolumeClaim},
      {"storage.k8s.io", "StorageClass", PrintStorageClass},
      {"storage.k8s.io", "VolumeAttributesClass", PrintVolumeAttributesClass},
      {"storage.k8s.io", "VolumeAttachment", PrintVolumeAttachment},
      {"storage.k8s.io", "CSIDriver", PrintCsiDriver},
      {"storage.k8s.io", "CSINode", PrintCsiNode},
      {"resource.k8s.io", "ResourceClaim", PrintResourceClaim},
      {"resource.k8s.io", "ResourceClaimTemplate", PrintNameAndAge},
      {"resource.k8s.io", "DeviceClass", PrintNameAndAge},
      {"resource.k8s.io", "ResourceSlice", PrintResourceSlice},
      {"resource.k8s.io", "DeviceTaintRule", PrintDeviceTaintRule},
      {"storagemigration.k8s.io", "StorageVersionMigration", PrintStorageVersionMigration},
  };
}

}  // namespace flyball::api
