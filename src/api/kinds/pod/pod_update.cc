#include "api/kinds/pod/pod_update.h"

#include <limits>
#include <string>

#include "api/kinds/pod/pod_gated.h"
#include "api/kinds/pod_spec/pod_annotations.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kMayNotChange =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was "
    "previously negative)";

void ValidateAnnotationUpdate(const Value& annotations, const Value& old, const FieldPath& path,
                              FieldErrors& errors) {
  const auto is_app_armor = [](std::string_view key) { return key.starts_with(kAppArmorPrefix); };
  for (const auto& [key, value] : Entries(old)) {
    const Value* now = annotations.Find(key);
    if (now != nullptr && *now == value) continue;
    if (is_app_armor(key)) errors.Forbidden(path.Key(key), "may not remove or update AppArmor annotations");
    if (key == kMirrorAnnotation)
      errors.Forbidden(path.Key(key), "may not remove or update mirror pod annotation");
  }
  for (const auto& [key, value] : Entries(annotations)) {
    if (old.Find(key) != nullptr) continue;
    if (is_app_armor(key)) errors.Forbidden(path.Key(key), "may not add AppArmor annotations");
    if (key == kMirrorAnnotation) errors.Forbidden(path.Key(key), "may not add mirror pod annotation");
  }
}

// False if the lists cannot be compared any further.
bool ValidateContainerUpdates(const Value& containers, const Value& old, const FieldPath& path,
                              FieldErrors& errors) {
  if (containers.size() != old.size()) {
    errors.Forbidden(path, "pod updates may not add or remove containers");
    return false;
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string_view image = Text(containers.as_array()[i], "image");
    if (image.empty()) errors.Required(path.Index(i).Child("image"));
    if (Trimmed(image).size() != image.size()) {
      errors.Invalid(path.Index(i).Child("image"), image, "must not have leading or trailing whitespace");
    }
  }
  return true;
}

// False if upstream stops here.
bool ValidateDeadlineUpdate(const Value& deadline, const Value& old, const FieldPath& path,
                            FieldErrors& errors) {
  if (deadline.is_null()) {
    if (!old.is_null())
      errors.Invalid(path, deadline, "must not update from a positive integer to nil value");
    return true;
  }
  const std::int64_t seconds = deadline.int_or(0);
  const Problems problems = RangeProblems(seconds, 0, std::numeric_limits<std::int32_t>::max());
  AddProblems(problems, path, deadline, errors);
  if (!problems.empty()) return false;
  if (old.is_null() || seconds <= old.int_or(0)) return true;
  errors.Invalid(path, deadline, "must be less than or equal to previous value");
  return false;
}

void ValidateAddedTolerations(const Value& tolerations, const Value& old, const FieldPath& path,
                              FieldErrors& errors) {
  for (const Value& before : Items(old)) {
    bool found = false;
    for (const Value& now : Items(tolerations)) {
      Value changed = now;
      Remove(changed, "tolerationSeconds");
      if (Has(before, "tolerationSeconds")) changed["tolerationSeconds"] = before["tolerationSeconds"];
      found = found || changed == before;
    }
    if (!found) {
      return errors.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
    }
  }
  ValidateTolerations(tolerations, path, errors);
}

void ValidateDeletedGates(const Value& gates, const Value& old, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const Value& gate = gates.as_array()[i];
    bool existed = false;
    for (const Value& before : Items(old)) existed = existed || before["name"] == gate["name"];
    if (existed) continue;
    errors.Forbidden(
        path.Index(i).Child("name"),
        "only deletion is allowed, but found new scheduling gate '" + std::string(Text(gate, "name")) + "'");
  }
}

void SetOrRemove(Value& spec, const Value& old, std::string_view field) {
  if (Has(old, field)) {
    spec[field] = old[field];
  } else {
    Remove(spec, field);
  }
}

// The new spec with everything that may change put back as it was.
Value WithoutAllowedChanges(const Value& spec, const Value& old) {
  Value munged = spec;
  for (const char* list : {"containers", "initContainers"}) {
    Value* containers = munged.Find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (std::size_t i = 0; i < containers->size(); ++i) {
      containers->as_array()[i]["image"] = old[list].as_array()[i]["image"];
    }
  }
  for (const char* field : {"activeDeadlineSeconds", "schedulingGates", "tolerations"})
    SetOrRemove(munged, old, field);
  const bool was_negative = Number(old, "terminationGracePeriodSeconds") < 0;
  if (was_negative && Number(munged, "terminationGracePeriodSeconds") == 1) {
    munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"];
  }
  return munged;
}

void ValidateStateTransition(const Value& statuses, const Value& old, std::string_view restart_policy,
                             const Value& init_containers, const FieldPath& path, FieldErrors& errors) {
  if (restart_policy == "Always") return;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Value& before = old.as_array()[i];
    const Value& terminated = before["state"]["terminated"];
    if (terminated.is_null()) continue;
    if (Number(terminated, "exitCode") != 0 && restart_policy == "OnFailure") continue;
    bool sidecar = false;
    for (const Value& container : Items(init_containers)) {
      sidecar =
          sidecar || (container["name"] == before["name"] && Text(container, "restartPolicy") == "Always");
    }
    if (sidecar) continue;
    for (const Value& now : Items(statuses)) {
      if (now["name"] != before["name"] || !now["state"]["terminated"].is_null()) continue;
      errors.Forbidden(path.Index(i).Child("state"), "may not be transitioned to non-terminated state");
    }
  }
}

void ValidateIps(const Value& ips, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < ips.size(); ++i) {
    CheckFormat("ip", Text(ips.as_array()[i], "ip"), path.Index(i), errors);
  }
  if (ips.size() < 2) return;
  const bool dual =
      ips.size() == 2 && IsIpv4(Text(ips.as_array()[0], "ip")) != IsIpv4(Text(ips.as_array()[1], "ip"));
  if (!dual) errors.Invalid(path, ips, "may specify no more than one IP for each IP family");
}

}  // namespace

void ValidatePodUpdate(const Value& pod, const Value& old_pod, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = pod["spec"];
  const Value& old = old_pod["spec"];
  ValidateAnnotationUpdate(pod["metadata"]["annotations"], old_pod["metadata"]["annotations"],
                           FieldPath("metadata.annotations"), errors);
  for (const char* list : {"containers", "initContainers"}) {
    if (!ValidateContainerUpdates(spec[list], old[list], path.Child(list), errors)) return;
  }
  if (!ValidateDeadlineUpdate(spec["activeDeadlineSeconds"], old["activeDeadlineSeconds"],
                              path.Child("activeDeadlineSeconds"), errors)) {
    return;
  }
  ValidateAddedTolerations(spec["tolerations"], old["tolerations"], path.Child("tolerations"), errors);
  ValidateDeletedGates(spec["schedulingGates"], old["schedulingGates"], path.Child("schedulingGates"),
                       errors);
  if (spec == old) return;
  Value munged = WithoutAllowedChanges(spec, old);
  if (old["schedulingGates"].size() > 0) AllowGatedChanges(munged, old, path, errors);
  if (munged == old) return;
  errors.Forbidden(
      path, std::string(kMayNotChange) + "\n" + GoDifference("io.k8s.api.core.v1.PodSpec", old, munged));
}

void ValidatePodStatusUpdate(const Value& pod, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  const Value& status = pod["status"];
  const Value& old_status = old["status"];
  if (pod["spec"]["nodeName"] != old["spec"]["nodeName"]) {
    errors.Forbidden(path.Child("nodeName"), "may not be changed directly");
  }
  const std::string_view nominated = Text(status, "nominatedNodeName");
  if (!nominated.empty() && nominated != Text(old_status, "nominatedNodeName")) {
    CheckFormat("dns-subdomain", nominated, path.Child("nominatedNodeName"), errors);
  }
  if (Text(status, "qosClass") != Text(old_status, "qosClass")) {
    errors.Invalid(path.Child("qosClass"), Text(status, "qosClass"), kImmutableText);
  }
  const std::string_view policy = Text(old["spec"], "restartPolicy");
  ValidateStateTransition(status["containerStatuses"], old_status["containerStatuses"], policy, Value(),
                          path.Child("containerStatuses"), errors);
  ValidateStateTransition(status["initContainerStatuses"], old_status["initContainerStatuses"], policy,
                          old["spec"]["initContainers"], path.Child("initContainerStatuses"), errors);
  ValidateStateTransition(status["ephemeralContainerStatuses"], old_status["ephemeralContainerStatuses"],
                          "Never", Value(), path.Child("ephemeralContainerStatuses"), errors);
  ValidateIps(status["podIPs"], path.Child("podIPs"), errors);
  ValidateIps(status["hostIPs"], path.Child("hostIPs"), errors);
}

void ValidateEphemeralContainersUpdate(const Value& pod, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec.ephemeralContainers");
  for (const Value& before : Items(old["spec"]["ephemeralContainers"])) {
    const Value* now = nullptr;
    for (const Value& container : Items(pod["spec"]["ephemeralContainers"])) {
      if (container["name"] == before["name"]) now = &container;
    }
    const std::string name(Text(before, "name"));
    if (now == nullptr) {
      errors.Forbidden(path, "existing ephemeral containers \"" + name + "\" may not be removed\n");
    } else if (*now != before) {
      errors.Forbidden(path, "existing ephemeral containers \"" + name + "\" may not be changed\n" +
                                 GoDifference("io.k8s.api.core.v1.EphemeralContainer", before, *now));
    }
  }
}

}  // namespace flyball::api
