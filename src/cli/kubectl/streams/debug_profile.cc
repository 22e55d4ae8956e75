#include "cli/kubectl/streams/debug_profile.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/merge/strategic_merge.h"
#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"

namespace flyball::cli {
namespace {

constexpr std::array<std::string_view, 6> kProfiles{"legacy",     "general",  "baseline",
                                                    "restricted", "netadmin", "sysadmin"};

json::Value* FindContainer(json::Value& pod, const std::string& name) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
    if (json::Value* found = pod["spec"].Find(list); found && found->is_array())
      for (json::Value& container : found->as_array())
        if (std::as_const(container)["name"].string_or("") == name) return &container;
  return nullptr;
}

void AddCapability(json::Value& container, const char* capability) {
  json::Value& capabilities = container["securityContext"]["capabilities"];
  if (!std::as_const(capabilities)["add"].is_array()) capabilities["add"] = json::Array();
  capabilities["add"].as_array().emplace_back(capability);
}

void Restrict(json::Value& container) {
  json::Value& security = container["securityContext"];
  security["runAsNonRoot"] = true;
  security["capabilities"]["drop"] = json::Array{"ALL"};
  security["allowPrivilegeEscalation"] = false;
  security["seccompProfile"]["type"] = "RuntimeDefault";
}

void SecureContainer(const std::string& profile, DebugStyle style, json::Value& container) {
  const bool clears = profile == "baseline" || profile == "restricted" ||
                      (profile == "general" && style == DebugStyle::kNode);
  if (clears) container.as_object().Erase("securityContext");
  if (profile == "general" && style != DebugStyle::kNode) AddCapability(container, "SYS_PTRACE");
  if (profile == "restricted") Restrict(container);
  if (profile == "sysadmin") container["securityContext"]["privileged"] = true;
  if (profile != "netadmin") return;
  AddCapability(container, "NET_ADMIN");
  AddCapability(container, "NET_RAW");
}

void StripCopy(const KeepFlags& keep, json::Value& pod) {
  json::Object& metadata = pod["metadata"].as_object();
  if (!keep.labels) metadata.Erase("labels");
  if (!keep.annotations) metadata.Erase("annotations");
  for (json::Value& container : pod["spec"]["containers"].as_array()) {
    if (!keep.liveness) container.as_object().Erase("livenessProbe");
    if (!keep.readiness) container.as_object().Erase("readinessProbe");
    if (!keep.startup) container.as_object().Erase("startupProbe");
  }
  json::Object& spec = pod["spec"].as_object();
  if (!keep.init_containers) spec.Erase("initContainers");
  if (!spec.contains("shareProcessNamespace")) spec.Set("shareProcessNamespace", true);
}

void OpenNode(const std::string& profile, json::Value& pod, json::Value& container) {
  json::Value& spec = pod["spec"];
  if (profile == "legacy" || profile == "general" || profile == "sysadmin") {
    spec["volumes"] =
        json::Array{json::Object{{"name", "host-root"}, {"hostPath", json::Object{{"path", "/"}}}}};
    container["volumeMounts"] = json::Array{json::Object{{"mountPath", "/host"}, {"name", "host-root"}}};
  }
  if (profile != "baseline" && profile != "restricted")
    for (const char* space : {"hostIPC", "hostNetwork", "hostPID"}) spec[space] = true;
}

const api::TypeInfo& ContainerType() {
  const api::TypeInfo* pod = api::FindBuiltinKind("", "v1", "Pod")->type;
  return *pod->FindField("spec")->type->FindField("containers")->type->element;
}

}  // namespace

Status CheckProfile(const DebugProfile& profile) {
  if (std::find(kProfiles.begin(), kProfiles.end(), profile.name) == kProfiles.end())
    return Unexpected(LocalError("unknown profile: " + profile.name));
  for (const char* field : {"name", "command", "image", "lifecycle", "volumeDevices"})
    if (profile.custom.Find(field))
      return Unexpected(LocalError(
          "name, command, image, lifecycle and volume devices are not modifiable via custom profile"));
  return {};
}

Status ApplyProfile(const DebugProfile& profile, DebugStyle style, const std::string& container,
                    json::Value& pod) {
  json::Value* const ours = FindContainer(pod, container);
  if (!ours)
    return Unexpected(LocalError("unable to find the " + container + " container in the pod " +
                                 std::string(std::as_const(pod)["metadata"]["name"].string_or(""))));
  SecureContainer(profile.name, style, *ours);
  if (style == DebugStyle::kNode) OpenNode(profile.name, pod, *ours);
  if (style == DebugStyle::kCopy && profile.name == "legacy")
    pod["metadata"].as_object().Erase("labels");
  else if (style == DebugStyle::kCopy)
    StripCopy(profile.keep, pod);
  if (profile.custom.is_null()) return {};
  FLYBALL_ASSIGN(*ours, api::StrategicMerge(ContainerType(), *ours, profile.custom));
  return {};
}

bool NeedsRoot(const json::Value& pod, const std::string& container) {
  if (pod["spec"]["securityContext"]["runAsUser"].int_or(0) == 0) return false;
  for (const char* list : {"containers", "ephemeralContainers"})
    for (const json::Value& candidate : Elements(pod["spec"][list])) {
      if (candidate["name"].string_or("") != container) continue;
      const json::Value& security = candidate["securityContext"];
      if (security["runAsUser"].is_int() && security["runAsUser"].int_or(0) == 0) return false;
      return security["privileged"].bool_or(false) || !security["capabilities"]["add"].empty();
    }
  return false;
}

}  // namespace flyball::cli
