#include <algorithm>
#include <initializer_list>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/claim_spec.h"
#include "api/kinds/shared/iscsi.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;
using CheckPodVolumeSources = void (*)(const Value& source, const FieldPath& path, FieldErrors& errors);

void CheckPartition(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t partition = Number(source, "partition");
  if (partition < 0 || partition > 255) errors.Invalid(path.Child("partition"), partition, RangeText(1, 255));
}

void HostPath(const Value& source, const FieldPath& path, FieldErrors& errors) {
  if (Text(source, "path").empty()) return errors.Required(path.Child("path"));
  CheckNoBacksteps(Text(source, "path"), path.Child("path"), errors);
  if (!Has(source, "type")) return;
  CheckOneOf(
      Text(source, "type"),
      {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"},
      path.Child("type"), errors);
}

void GitRepo(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"repository"}, path, errors);
  CheckDescendingPath(Text(source, "directory"), path.Child("directory"), errors);
}

void GcePersistentDisk(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"pdName"}, path, errors);
  CheckPartition(source, path, errors);
}

void AwsElasticBlockStore(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"volumeID"}, path, errors);
  CheckPartition(source, path, errors);
}

void KeyedFiles(const Value& source, const FieldPath& path, FieldErrors& errors) {
  CheckFileMode(source["defaultMode"], path.Child("defaultMode"), errors);
  const Value& items = source["items"];
  for (std::size_t i = 0; i < items.size(); ++i) {
    ValidateKeyToPath(items.as_array()[i], path.Child("items").Index(i), errors);
  }
}

void Secret(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"secretName"}, path, errors);
  KeyedFiles(source, path, errors);
}

void ConfigMap(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"name"}, path, errors);
  KeyedFiles(source, path, errors);
}

void Nfs(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"server", "path"}, path, errors);
  if (!Text(source, "path").starts_with('/')) {
    errors.Invalid(path.Child("path"), Text(source, "path"), "must be an absolute path");
  }
}

void Glusterfs(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"endpoints", "path"}, path, errors);
}

void Flocker(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const bool named = !Text(source, "datasetName").empty(), identified = !Text(source, "datasetUUID").empty();
  if (!named && !identified) errors.Required(path, "one of datasetName and datasetUUID is required");
  if (named && identified) {
    errors.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (Text(source, "datasetName").find('/') != std::string_view::npos) {
    errors.Invalid(path.Child("datasetName"), source["datasetName"], "must not contain '/'");
  }
}

void PersistentVolumeClaim(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"claimName"}, path, errors);
}

void Rbd(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"monitors", "image"}, path, errors);
}

void Cinder(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"volumeID"}, path, errors);
  if (Has(source, "secretRef"))
    RequireMembers(source["secretRef"], {"name"}, path.Child("secretRef"), errors);
}

void Cephfs(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"monitors"}, path, errors);
}

void Quobyte(const Value& source, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kPairs = "must be a host:port pair or multiple pairs separated by commas";
  const std::string_view registry = Text(source, "registry");
  if (registry.empty()) {
    errors.Required(path.Child("registry"), kPairs);
  } else if (Text(source, "tenant").size() >= 65) {
    errors.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
  } else {
    for (std::size_t at = 0; at <= registry.size();) {
      const std::size_t comma = std::min(registry.find(',', at), registry.size());
      if (registry.substr(at, comma - at).find(':') == std::string_view::npos) {
        errors.Invalid(path.Child("registry"), registry, kPairs);
      }
      at = comma + 1;
    }
  }
  RequireMembers(source, {"volume"}, path, errors);
}

void DownwardApi(const Value& source, const FieldPath& path, FieldErrors& errors) {
  CheckFileMode(source["defaultMode"], path.Child("defaultMode"), errors);
  for (const Value& file : Items(source["items"])) ValidateDownwardFile(file, path, errors);
}

void AzureFile(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"secretName", "shareName"}, path, errors);
}

void VsphereVolume(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"volumePath"}, path, errors);
}

void PhotonPersistentDisk(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"pdID"}, path, errors);
}

void PortworxVolume(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"volumeID"}, path, errors);
}

void AzureDisk(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"diskName", "diskURI"}, path, errors);
  if (Has(source, "cachingMode")) {
    CheckOneOf(Text(source, "cachingMode"), {"None", "ReadOnly", "ReadWrite"}, path.Child("cachingMode"),
               errors);
  }
  if (!Has(source, "kind")) return;
  CheckOneOf(Text(source, "kind"), {"Dedicated", "Managed", "Shared"}, path.Child("kind"), errors);
  const std::string_view uri = Text(source, "diskURI");
  const bool managed = Text(source, "kind") == "Managed";
  if (managed && !uri.starts_with("/subscriptions/")) {
    errors.NotSupported(
        path.Child("diskURI"), uri,
        {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
         "{disk-id}"});
  } else if (!managed && !uri.starts_with("https://")) {
    errors.NotSupported(path.Child("diskURI"), uri,
                        {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"});
  }
}

void StorageOs(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(source, "volumeName");
  if (name.empty()) {
    errors.Required(path.Child("volumeName"));
  } else {
    CheckFormat("dns-label", name, path.Child("volumeName"), errors);
  }
  if (const std::string_view ns = Text(source, "volumeNamespace"); !ns.empty()) {
    CheckFormat("dns-label", ns, path.Child("volumeNamespace"), errors);
  }
  if (Has(source, "secretRef"))
    RequireMembers(source["secretRef"], {"name"}, path.Child("secretRef"), errors);
}

void ScaleIo(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"gateway", "system", "volumeName"}, path, errors);
}

void Fc(const Value& source, const FieldPath& path, FieldErrors& errors) {
  ValidateFibreChannel(source, path, errors);
}

void FlexVolume(const Value& source, const FieldPath& path, FieldErrors& errors) {
  ValidateFlexVolume(source, path, errors);
}

void Csi(const Value& source, const FieldPath& path, FieldErrors& errors) {
  ValidateCsiDriverName(Text(source, "driver"), path.Child("driver"), errors);
  const Value& secret = source["nodePublishSecretRef"];
  if (secret.is_null()) return;
  const std::string_view name = Text(secret, "name");
  if (name.empty()) return errors.Required(path.Child("nodePublishSecretRef").Child("name"));
  CheckFormat("dns-subdomain", name, path.Child("name"), errors);
}

void Ephemeral(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const Value& claim = source["volumeClaimTemplate"];
  if (claim.is_null()) return errors.Required(path.Child("volumeClaimTemplate"));
  ValidateClaimTemplate(claim, path.Child("volumeClaimTemplate"), errors);
}

void Image(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"reference"}, path, errors);
  RequireOneOf(Text(source, "pullPolicy"), {"Always", "IfNotPresent", "Never"}, path.Child("pullPolicy"),
               errors);
}

struct Source {
  std::string_view name;
  CheckPodVolumeSources check;
  std::string_view path = {};  // where upstream's errors say it is, if not at its own name
};
constexpr Source kPodVolumeSourcesSources[] = {
    {"hostPath", HostPath},
    {"gitRepo", GitRepo},
    {"gcePersistentDisk", GcePersistentDisk, "persistentDisk"},
    {"awsElasticBlockStore", AwsElasticBlockStore},
    {"secret", Secret},
    {"nfs", Nfs},
    {"iscsi", ValidateIscsiVolume},
    {"glusterfs", Glusterfs},
    {"flocker", Flocker},
    {"persistentVolumeClaim", PersistentVolumeClaim},
    {"rbd", Rbd},
    {"cinder", Cinder},
    {"cephfs", Cephfs},
    {"quobyte", Quobyte},
    {"downwardAPI", DownwardApi},
    {"fc", Fc},
    {"flexVolume", FlexVolume},
    {"configMap", ConfigMap},
    {"azureFile", AzureFile},
    {"vsphereVolume", VsphereVolume},
    {"photonPersistentDisk", PhotonPersistentDisk},
    {"portworxVolume", PortworxVolume},
    {"azureDisk", AzureDisk},
    {"storageos", StorageOs},
    {"projected", ValidateProjectedVolume},
    {"scaleIO", ScaleIo},
    {"csi", Csi},
    {"ephemeral", Ephemeral},
    {"image", Image},
};

}  // namespace

void ValidateVolumeSource(std::string_view name, const Value& source, const FieldPath& path,
                          FieldErrors& errors) {
  const auto* found = std::find_if(std::begin(kPodVolumeSourcesSources), std::end(kPodVolumeSourcesSources),
                                   [&](const Source& s) { return s.name == name; });
  if (found == std::end(kPodVolumeSourcesSources)) return;
  found->check(source, path.Child(found->path.empty() ? name : found->path), errors);
}

}  // namespace flyball::api
