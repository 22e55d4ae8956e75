#include <algorithm>
#include <array>

#include "api/pod_security/policy_checks.h"

namespace flyball::api::pod_security {
namespace {

// Volumes a restricted pod may use (upstream: check_restrictedVolumes).
constexpr std::array<std::string_view, 8> kAllowedVolumes = {
    "configMap", "csi",   "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret"};
constexpr std::array<std::string_view, 20> kKnownVolumes = {"hostPath",
                                                            "gcePersistentDisk",
                                                            "awsElasticBlockStore",
                                                            "gitRepo",
                                                            "nfs",
                                                            "iscsi",
                                                            "glusterfs",
                                                            "rbd",
                                                            "flexVolume",
                                                            "cinder",
                                                            "cephfs",
                                                            "flocker",
                                                            "fc",
                                                            "azureFile",
                                                            "quobyte",
                                                            "azureDisk",
                                                            "portworxVolume",
                                                            "scaleIO",
                                                            "storageos",
                                                            "vsphereVolume"};

CheckResult PrivilegeEscalation(const Pod& pod) {
  if (pod.IsWindows()) return std::nullopt;
  std::vector<std::string> bad;
  for (const auto* container : pod.Containers())
    if ((*container)["securityContext"]["allowPrivilegeEscalation"].bool_or(true))
      bad.push_back(ContainerName(*container));
  if (bad.empty()) return std::nullopt;
  return Violation{"allowPrivilegeEscalation != false",
                   NamedContainers(bad) + " must set securityContext.allowPrivilegeEscalation=false"};
}

CheckResult RestrictedCapabilities(const Pod& pod) {
  if (pod.IsWindows()) return std::nullopt;
  std::vector<std::string> keeping, adding;
  std::set<std::string> added;
  for (const auto* container : pod.Containers()) {
    const auto& capabilities = (*container)["securityContext"]["capabilities"];
    bool drops_all = false, adds = false;
    if (capabilities["drop"].is_array())
      for (const auto& drop : capabilities["drop"].as_array()) drops_all |= drop.string_or("") == "ALL";
    if (capabilities["add"].is_array())
      for (const auto& add : capabilities["add"].as_array()) {
        if (add.string_or("") == "NET_BIND_SERVICE") continue;
        adds = true;
        added.emplace(add.string_or(""));
      }
    if (!drops_all) keeping.push_back(ContainerName(*container));
    if (adds) adding.push_back(ContainerName(*container));
  }
  std::vector<std::string> details;
  if (!keeping.empty())
    details.push_back(NamedContainers(keeping) + " must set securityContext.capabilities.drop=[\"ALL\"]");
  if (!adding.empty())
    details.push_back(NamedContainers(adding) + " must not include " + JoinQuoted(added) +
                      " in securityContext.capabilities.add");
  if (details.empty()) return std::nullopt;
  return Violation{"unrestricted capabilities", JoinText(details, "; ")};
}

// "": one of those that are allowed.
std::string BadVolumeType(const json::Value& volume) {
  for (const auto type : kAllowedVolumes)
    if (volume[type].is_object()) return {};
  for (const auto type : kKnownVolumes)
    if (volume[type].is_object()) return std::string(type);
  return "unknown";
}

CheckResult RestrictedVolumes(const Pod& pod) {
  std::vector<std::string> bad;
  std::set<std::string> types;
  if (const auto& volumes = pod.spec["volumes"]; volumes.is_array())
    for (const auto& volume : volumes.as_array()) {
      auto type = BadVolumeType(volume);
      if (type.empty()) continue;
      bad.emplace_back(volume["name"].string_or(""));
      types.insert(std::move(type));
    }
  if (bad.empty()) return std::nullopt;
  return Violation{
      "restricted volume types",
      (bad.size() == 1 ? "volume " : "volumes ") + JoinQuoted(bad) + (bad.size() == 1 ? " uses " : " use ") +
          (types.size() == 1 ? "restricted volume type " : "restricted volume types ") + JoinQuoted(types)};
}

CheckResult RunAsNonRoot(const Pod& pod) {
  const auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    if (security["runAsNonRoot"].bool_or(true)) return std::nullopt;
    return "false";
  });
  constexpr std::string_view kReason = "runAsNonRoot != true";
  if (setters.any())
    return Violation{std::string(kReason),
                     setters.ToString() + " must not set securityContext.runAsNonRoot=false"};
  if (pod.Security()["runAsNonRoot"].bool_or(false)) return std::nullopt;
  std::vector<std::string> silent;
  for (const auto* container : pod.Containers())
    if (!(*container)["securityContext"]["runAsNonRoot"].bool_or(false))
      silent.push_back(ContainerName(*container));
  if (silent.empty()) return std::nullopt;
  return Violation{std::string(kReason),
                   "pod or " + NamedContainers(silent) + " must set securityContext.runAsNonRoot=true"};
}

CheckResult RunAsUser(const Pod& pod) {
  const auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    if (security["runAsUser"].int_or(1) != 0) return std::nullopt;
    return "0";
  });
  if (!setters.any()) return std::nullopt;
  return Violation{"runAsUser=0", setters.ToString() + " must not set runAsUser=0"};
}

bool IsGoodSeccomp(std::string_view type) {
  return type == "RuntimeDefault" || type == "Localhost";
}

CheckResult RestrictedSeccomp(const Pod& pod) {
  if (pod.IsWindows()) return std::nullopt;
  const auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    const auto* profile = security.Find("seccompProfile");
    if (!profile || !profile->is_object()) return std::nullopt;
    const auto type = (*profile)["type"].string_or("");
    if (IsGoodSeccomp(type)) return std::nullopt;
    return std::string(type);
  });
  if (setters.any())
    return Violation{"seccompProfile", setters.ToString() +
                                           " must not set securityContext.seccompProfile.type to " +
                                           JoinQuoted(setters.values)};
  if (pod.Security()["seccompProfile"].is_object()) return std::nullopt;
  std::vector<std::string> silent;
  for (const auto* container : pod.Containers())
    if (!(*container)["securityContext"]["seccompProfile"].is_object())
      silent.push_back(ContainerName(*container));
  if (silent.empty()) return std::nullopt;
  return Violation{
      "seccompProfile",
      "pod or " + NamedContainers(silent) +
          " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""};
}

constexpr std::array<Check, 6> kRestricted = {
    {{"allowPrivilegeEscalation", 8, PrivilegeEscalation},
     {"capabilities_restricted", 22, RestrictedCapabilities, "capabilities_baseline"},
     {"restrictedVolumes", 0, RestrictedVolumes, "hostPathVolumes"},
     {"runAsNonRoot", 0, RunAsNonRoot},
     {"runAsUser", 23, RunAsUser},
     {"seccompProfile_restricted", 19, RestrictedSeccomp, "seccompProfile_baseline"}}};

}  // namespace

std::span<const Check> RestrictedChecks() {
  return kRestricted;
}

}  // namespace flyball::api::pod_security
