// The endpoints that change one part of a pod: ephemeralcontainers and resize.
#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_update.h"
#include "api/rules/access.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

void SetOrErase(Value& object, std::string_view key, const Value& from) {
  if (const Value* value = from.Find(key)) {
    object[key] = *value;
  } else {
    object.as_object().Erase(key);
  }
}

// The old containers with the new resources. Other containers, or in another order: the new ones as they are,
// which validation refuses.
Value ResizedContainers(const Value& now, const Value& old) {
  Value containers = old;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Value& container = now.as_array()[i];
    Value& kept = containers.as_array()[i];
    if (Text(container, "name") != Text(std::as_const(kept), "name")) return now;
    SetOrErase(kept, "resources", container);
    SetOrErase(kept, "resizePolicy", container);
  }
  return containers;
}

void PrepareForResize(Value& pod, const Value& old) {
  const Value now = pod["spec"];
  const Value& before = old["spec"];
  for (const char* list : {"containers", "initContainers"}) {
    if (now[list].size() != before[list].size()) return;  // validation refuses it
  }
  Value spec = before;
  for (const char* list : {"containers", "initContainers"}) {
    if (now[list].size() > 0) spec[list] = ResizedContainers(now[list], before[list]);
  }
  // Clients that do not know the resources of a pod as a whole leave them as they are.
  const bool complete = GateEnabled("PodLevelResourcesFixDefaulting");
  SetOrErase(spec, "resources", complete && !Has(now, "resources") ? before : now);
  pod["spec"] = std::move(spec);
  if (complete) SetPodLevelDefaults(pod);
  SetOrErase(pod, "status", old);
}

}  // namespace

void PreparePodPart(std::string_view part, Value& pod, const Value& old) {
  if (part == "resize") return PrepareForResize(pod, old);
  Value spec = old["spec"];
  SetOrErase(spec, "ephemeralContainers", pod["spec"]);
  pod["spec"] = std::move(spec);
  SetOrErase(pod, "status", old);
}

void ValidatePodPart(std::string_view part, const Value& pod, const Value& old, FieldErrors& errors) {
  if (part == "resize") return ValidatePodResize(pod, old, errors);
  ValidateEphemeralContainersUpdate(pod, old, errors);
}

}  // namespace flyball::api
