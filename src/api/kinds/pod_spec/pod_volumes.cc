#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

using json::Value;

struct SourceName {
  std::string_view json;
  std::string_view forbidden;  // what upstream calls it when it is one too many
};

// In upstream's order: the first one found is checked, the others are one too many.
constexpr std::array kPodVolumesSources = {
    SourceName{"hostPath", "hostPath"},
    SourceName{"gitRepo", "gitRepo"},
    SourceName{"gcePersistentDisk", "gcePersistentDisk"},
    SourceName{"awsElasticBlockStore", "awsElasticBlockStore"},
    SourceName{"secret", "secret"},
    SourceName{"nfs", "nfs"},
    SourceName{"iscsi", "iscsi"},
    SourceName{"glusterfs", "glusterfs"},
    SourceName{"flocker", "flocker"},
    SourceName{"persistentVolumeClaim", "persistentVolumeClaim"},
    SourceName{"rbd", "rbd"},
    SourceName{"cinder", "cinder"},
    SourceName{"cephfs", "cephFS"},
    SourceName{"quobyte", "quobyte"},
    SourceName{"downwardAPI", "downwarAPI"},
    SourceName{"fc", "fc"},
    SourceName{"flexVolume", "flexVolume"},
    SourceName{"configMap", "configMap"},
    SourceName{"azureFile", "azureFile"},
    SourceName{"vsphereVolume", "vsphereVolume"},
    SourceName{"photonPersistentDisk", "photonPersistentDisk"},
    SourceName{"portworxVolume", "portworxVolume"},
    SourceName{"azureDisk", "azureDisk"},
    SourceName{"storageos", "storageos"},
    SourceName{"projected", "projected"},
    SourceName{"scaleIO", "scaleIO"},
    SourceName{"csi", "csi"},
    SourceName{"ephemeral", "ephemeral"},
    SourceName{"image", "image"},
};

void ValidateEmptyDir(const Value& empty_dir, const FieldPath& path, FieldErrors& errors) {
  if (Has(empty_dir, "sizeLimit") && QuantityOf(empty_dir["sizeLimit"]).Sign() < 0) {
    errors.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
  }
}

void CheckClaimName(std::string_view pod_name, std::string_view volume_name, const FieldPath& path,
                    FieldErrors& errors) {
  if (pod_name.empty() || volume_name.empty()) return;
  const std::string claim = std::string(pod_name) + "-" + std::string(volume_name);
  for (const std::string& problem : DnsSubdomainProblems(claim)) {
    errors.Invalid(path, volume_name, "PVC name " + GoQuote(claim) + ": " + problem);
  }
}

void ValidatePodVolumesSources(const Value& volume, const PodContext& context, const FieldPath& path,
                               FieldErrors& errors) {
  constexpr std::string_view kTooMany = "may not specify more than 1 volume type";
  bool found = Has(volume, "emptyDir");
  if (found) ValidateEmptyDir(volume["emptyDir"], path.Child("emptyDir"), errors);
  for (const SourceName& name : kPodVolumesSources) {
    const Value& source = volume[name.json];
    if (source.is_null()) continue;
    if (found) {
      errors.Forbidden(path.Child(name.forbidden), kTooMany);
    } else {
      ValidateVolumeSource(name.json, source, path, errors);
      if (name.json == "ephemeral") {
        CheckClaimName(context.pod_name, Text(volume, "name"), path.Child("name"), errors);
      }
    }
    found = true;
  }
  if (!found) errors.Required(path, "must specify a volume type");
}

// The claims that ephemeral volumes of this pod will make.
std::set<std::string> CreatedClaims(const Value& volumes, std::string_view pod_name) {
  std::set<std::string> claims;
  for (const Value& volume : Items(volumes)) {
    if (pod_name.empty() || !Has(volume, "ephemeral")) continue;
    claims.insert(std::string(pod_name) + "-" + std::string(Text(volume, "name")));
  }
  return claims;
}

}  // namespace

void ValidateVolumes(const Value& volumes, PodContext& context, const FieldPath& list, FieldErrors& errors) {
  const std::set<std::string> created = CreatedClaims(volumes, context.pod_name);
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Value& volume = volumes.as_array()[i];
    const FieldPath path = list.Index(i);
    const std::string_view name = Text(volume, "name");
    FieldErrors found;
    ValidatePodVolumesSources(volume, context, path, found);
    if (name.empty()) {
      found.Required(path.Child("name"));
    } else {
      CheckFormat("dns-label", name, path.Child("name"), found);
    }
    if (context.volumes.contains(name)) found.Duplicate(path.Child("name"), name);
    if (found.empty()) context.volumes.emplace(name, &volume);
    errors.Append(std::move(found));
    const std::string claim(Text(volume["persistentVolumeClaim"], "claimName"));
    if (Has(volume, "persistentVolumeClaim") && created.contains(claim)) {
      errors.Invalid(path.Child("persistentVolumeClaim").Child("claimName"), claim,
                     "must not reference a PVC that gets created for an ephemeral volume");
    }
  }
}

}  // namespace flyball::api
