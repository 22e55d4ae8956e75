#include <string>

#include "api/kinds/pod/pod_update.h"
#include "api/kinds/pod_spec/pod_annotations.h"
#include "api/rules/access.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

bool SomethingRemoved(const Value& list, const Value& old) {
  for (const auto& [name, quantity] : Entries(old)) {
    if (list.Find(name) == nullptr) return true;
  }
  return false;
}

void ValidateContainerResize(const Value& container, const Value& old, const FieldPath& path,
                             FieldErrors& errors) {
  const Value& resources = container["resources"];
  const Value& before = old["resources"];
  if (SomethingRemoved(resources["requests"], before["requests"])) {
    errors.Forbidden(path.Child("requests"), "resource requests cannot be removed");
  }
  if (SomethingRemoved(resources["limits"], before["limits"])) {
    errors.Forbidden(path.Child("limits"), "resource limits cannot be removed");
  }
}

void CopyComputeFrom(const Value& old, Value& container) {
  for (const char* list : {"limits", "requests"}) {
    Value kept = Get(container["resources"], list);
    for (const char* name : {"cpu", "memory"}) {
      Remove(kept, name);
      if (const Value* before = old["resources"][list].Find(name)) kept[name] = *before;
    }
    if (kept.size() == 0) {
      Remove(container["resources"], list);
    } else {
      kept.as_object().SortKeys();
      container["resources"][list] = kept;
    }
  }
}

bool HasPodLevelResources(const Value& pod) {
  const Value& resources = pod["spec"]["resources"];
  return resources["requests"].size() + resources["limits"].size() > 0;
}

// The reason for which a pod cannot be resized at all; "" if it can.
std::string_view WhyNotResizable(const Value& old) {
  if (Has(old["metadata"]["annotations"], kMirrorAnnotation)) return "static pods cannot be resized";
  if (Text(old["spec"]["os"], "name") == "windows") return "windows pods cannot be resized";
  return {};
}

bool IsSupportedByNode(const Value& pod) {
  for (const Value& status : Items(pod["status"]["containerStatuses"])) {
    if (Has(status["state"], "running")) return Has(status, "resources");
  }
  return true;
}

void ValidateLists(const Value& pod, const Value& old, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Value& containers = old["spec"][list];
    const Value& now = pod["spec"][list];
    for (std::size_t i = 0; i < containers.size() && i < now.size(); ++i) {
      ValidateContainerResize(now.as_array()[i], containers.as_array()[i],
                              path.Child(list).Index(i).Child("resources"), errors);
    }
  }
}

// An init container that has run to its end cannot be restarted for its resources.
bool RestartsToResize(const Value& container) {
  for (const Value& policy : Items(container["resizePolicy"]))
    if (Text(policy, "restartPolicy") == "RestartContainer") return true;
  return false;
}

void CheckInitContainer(const Value& container, const Value& before, const FieldPath& path,
                        FieldErrors& errors) {
  if (container == before) return;
  Value kept = container;
  CopyComputeFrom(before, kept);
  if (kept != before)
    errors.Forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable");
  if (Text(container, "restartPolicy") != "Always" && RestartsToResize(container))
    errors.Forbidden(
        path, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
}

void CheckOnlyCompute(const Value& pod, const Value& old, const FieldPath& path, FieldErrors& errors) {
  const Value& containers = pod["spec"]["containers"];
  const Value& before = old["spec"]["containers"];
  for (std::size_t i = 0; i < containers.size() && i < before.size(); ++i) {
    Value kept = containers.as_array()[i];
    CopyComputeFrom(before.as_array()[i], kept);
    if (kept != before.as_array()[i]) errors.Forbidden(path, "only cpu and memory resources are mutable");
  }
  const Value& init = pod["spec"]["initContainers"];
  const Value& init_before = old["spec"]["initContainers"];
  for (std::size_t i = 0; i < init.size() && i < init_before.size(); ++i)
    CheckInitContainer(init.as_array()[i], init_before.as_array()[i], path.Child("initContainers").Index(i),
                       errors);
}

// Resources of the pod as a whole (gate InPlacePodLevelResourcesVerticalScaling).
bool CheckPodLevelResize(const Value& pod, const Value& old, const FieldPath& path, FieldErrors& errors) {
  if (!HasPodLevelResources(pod) && !HasPodLevelResources(old)) return true;
  if (!GateEnabled("InPlacePodLevelResourcesVerticalScaling")) {
    errors.Forbidden(FieldPath(),
                     "resize of pods with pod-level resources is forbidden when "
                     "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled");
    return false;
  }
  const Value& now = pod["spec"]["resources"];
  const Value& before = old["spec"]["resources"];
  const FieldPath here = path.Child("resources");
  if (before.is_null()) return true;
  if (now.is_null()) {
    errors.Forbidden(here, "pod-level resources cannot be removed");
    return true;
  }
  if (SomethingRemoved(now["requests"], before["requests"]))
    errors.Forbidden(here.Child("requests"), "pod-level resource requests cannot be removed");
  if (SomethingRemoved(now["limits"], before["limits"]))
    errors.Forbidden(here.Child("limits"), "pod-level resource limits cannot be removed");
  Value kept = pod["spec"];
  CopyComputeFrom(old["spec"], kept);
  if (kept["resources"] != before)
    errors.Forbidden(path, "only cpu and memory resources are mutable at pod-level");
  return true;
}

}  // namespace

void ValidatePodResize(const Value& pod, const Value& old, FieldErrors& errors) {
  if (const std::string_view reason = WhyNotResizable(old); !reason.empty()) {
    return errors.Forbidden(FieldPath(), reason);
  }
  const FieldPath path("spec");
  const std::string_view qos = Text(old["status"], "qosClass");
  if ((qos.empty() ? PodQosClass(old["spec"]) : qos) != PodQosClass(pod["spec"])) {
    errors.Invalid(path, Text(pod["status"], "qosClass"),
                   "Pod QOS Class may not change as a result of resizing");
  }
  if (!IsSupportedByNode(old)) errors.Forbidden(path, "Pod running on node without support for resize");
  if (!CheckPodLevelResize(pod, old, path, errors)) return;
  ValidateLists(pod, old, path, errors);
  CheckOnlyCompute(pod, old, path, errors);
}

}  // namespace flyball::api
