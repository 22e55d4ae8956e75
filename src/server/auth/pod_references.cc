#include "server/auth/pod_references.h"

#include <array>

namespace flyball::server {
namespace {

const json::Array& ListOf(const json::Value& value) {
  static const json::Array kNone;
  return value.is_array() ? value.as_array() : kNone;
}

void AddNameTo(std::set<std::string>& names, const json::Value& name) {
  if (!name.string_or("").empty()) names.emplace(name.string_or(""));
}

void AddContainer(const json::Value& container, PodReferences& out) {
  for (const auto& variable : ListOf(container["env"])) {
    AddNameTo(out.secrets, variable["valueFrom"]["secretKeyRef"]["name"]);
    AddNameTo(out.config_maps, variable["valueFrom"]["configMapKeyRef"]["name"]);
  }
  for (const auto& source : ListOf(container["envFrom"])) {
    AddNameTo(out.secrets, source["secretRef"]["name"]);
    AddNameTo(out.config_maps, source["configMapRef"]["name"]);
  }
}

// Volumes that are mounted with a Secret named in `secretRef`.
constexpr std::array<std::string_view, 7> kWithSecretRef = {"cephfs",  "cinder", "flexVolume", "rbd",
                                                            "scaleIO", "iscsi",  "storageos"};

void AddVolume(const json::Value& volume, std::string_view pod_name, PodReferences& out) {
  AddNameTo(out.secrets, volume["secret"]["secretName"]);
  AddNameTo(out.config_maps, volume["configMap"]["name"]);
  AddNameTo(out.volume_claims, volume["persistentVolumeClaim"]["claimName"]);
  if (volume["ephemeral"].is_object())
    out.volume_claims.insert(std::string(pod_name) + "-" + std::string(volume["name"].string_or("")));
  AddNameTo(out.secrets, volume["azureFile"]["secretName"]);
  AddNameTo(out.secrets, volume["csi"]["nodePublishSecretRef"]["name"]);
  for (const auto source : kWithSecretRef) AddNameTo(out.secrets, volume[source]["secretRef"]["name"]);
  for (const auto& source : ListOf(volume["projected"]["sources"])) {
    AddNameTo(out.secrets, source["secret"]["name"]);
    AddNameTo(out.config_maps, source["configMap"]["name"]);
  }
}

// A claim made from a template has its name in the status.
void AddResourceClaims(const json::Value& pod, PodReferences& out) {
  for (const auto& claim : ListOf(pod["spec"]["resourceClaims"]))
    AddNameTo(out.resource_claims, claim["resourceClaimName"]);
  for (const auto& claim : ListOf(pod["status"]["resourceClaimStatuses"]))
    AddNameTo(out.resource_claims, claim["resourceClaimName"]);
  AddNameTo(out.resource_claims, pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]);
}

}  // namespace

PodReferences ReferencesOf(const json::Value& pod) {
  PodReferences out;
  const auto& spec = pod["spec"];
  AddNameTo(out.service_accounts, spec["serviceAccountName"]);
  for (const auto& secret : ListOf(spec["imagePullSecrets"])) AddNameTo(out.secrets, secret["name"]);
  for (const auto list : {"containers", "initContainers", "ephemeralContainers"})
    for (const auto& container : ListOf(spec[list])) AddContainer(container, out);
  for (const auto& volume : ListOf(spec["volumes"]))
    AddVolume(volume, pod["metadata"]["name"].string_or(""), out);
  AddResourceClaims(pod, out);
  return out;
}

bool IsMirrorPod(const json::Value& pod) {
  return pod["metadata"]["annotations"].Find(kMirrorPodAnnotation) != nullptr;
}

std::set<std::string> VolumeSecrets(const json::Value& volume) {
  std::set<std::string> out;
  const auto& spec = volume["spec"];
  const auto add = [&](const json::Value& name, const json::Value& space) {
    const auto given = space.string_or("");
    if (name.string_or("").empty()) return;
    out.insert(std::string(given.empty() ? spec["claimRef"]["namespace"].string_or("") : given) + "/" +
               std::string(name.string_or("")));
  };
  add(spec["azureFile"]["secretName"], spec["azureFile"]["secretNamespace"]);
  for (const auto source : kWithSecretRef)
    add(spec[source]["secretRef"]["name"], spec[source]["secretRef"]["namespace"]);
  for (const auto reference : {"nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"})
    add(spec["csi"][reference]["name"], spec["csi"][reference]["namespace"]);
  return out;
}

}  // namespace flyball::server
