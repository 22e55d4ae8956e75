#include <string>

#include "api/kinds/pod/pod_update.h"
#include "api/kinds/pod_spec/pod_annotations.h"
#include "api/rules/access.h"

namespace flyball::api {
namespace {

using json::Value;

bool SomethingRemoved(const Value& list, const Value& old) {
  for (const auto& [name, quantity] : Entries(old)) {
    if (list.Find(name) == nullptr) return true;
  }
  return false;
}

bool MayLowerMemory(const Value& container) {
  for (const Value& policy : Items(container["resizePolicy"])) {
    if (Text(policy, "resourceName") == "memory") return Text(policy, "restartPolicy") == "RestartContainer";
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
  if (MayLowerMemory(container)) return;
  const Value* limit = resources["limits"].Find("memory");
  const Value* old_limit = before["limits"].Find("memory");
  const FieldPath memory = path.Child("limits").Key("memory");
  if (limit != nullptr && old_limit != nullptr && QuantityOf(*limit) < QuantityOf(*old_limit)) {
    errors.Forbidden(memory, "memory limits cannot be decreased unless resizePolicy is RestartContainer");
  } else if (limit != nullptr && old_limit == nullptr) {
    errors.Forbidden(memory, "memory limits cannot be added unless resizePolicy is RestartContainer");
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
std::string_view WhyNotResizable(const Value& pod, const Value& old) {
  if (HasPodLevelResources(pod) || HasPodLevelResources(old))
    return "pods with pod-level resources cannot be resized";
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
      const bool sidecar = Text(containers.as_array()[i], "restartPolicy") == "Always";
      if (list == "initContainers" && !sidecar) continue;
      ValidateContainerResize(now.as_array()[i], containers.as_array()[i],
                              path.Child(list).Index(i).Child("resources"), errors);
    }
  }
}

void CheckOnlyCompute(const Value& pod, const Value& old, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value& containers = pod["spec"][list];
    for (std::size_t i = 0; i < containers.size() && i < old["spec"][list].size(); ++i) {
      const Value& before = old["spec"][list].as_array()[i];
      Value container = containers.as_array()[i];
      const bool init = list == "initContainers";
      const bool sidecar = init && Text(before, "restartPolicy") == "Always";
      if (!init || sidecar) CopyComputeFrom(before, container);
      if (container == before) continue;
      errors.Forbidden(path, !init     ? "only cpu and memory resources are mutable"
                             : sidecar ? "only cpu and memory resources for sidecar containers are mutable"
                                       : "resources for non-sidecar init containers are immutable");
    }
  }
}

}  // namespace

void ValidatePodResize(const Value& pod, const Value& old, FieldErrors& errors) {
  if (const std::string_view reason = WhyNotResizable(pod, old); !reason.empty()) {
    return errors.Forbidden(FieldPath(), reason);
  }
  const FieldPath path("spec");
  const std::string_view qos = Text(old["status"], "qosClass");
  if ((qos.empty() ? PodQosClass(old["spec"]) : qos) != PodQosClass(pod["spec"])) {
    errors.Invalid(path, Text(pod["status"], "qosClass"),
                   "Pod QOS Class may not change as a result of resizing");
  }
  if (!IsSupportedByNode(old)) errors.Forbidden(path, "Pod running on node without support for resize");
  ValidateLists(pod, old, path, errors);
  CheckOnlyCompute(pod, old, path, errors);
}

}  // namespace flyball::api
