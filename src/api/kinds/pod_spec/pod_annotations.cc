#include "api/kinds/pod_spec/pod_annotations.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kSeccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";
constexpr std::string_view kLocalhost = "localhost/";

// A 32-bit integer without a plus sign or leading zeros.
bool IsDeletionCost(std::string_view text) {
  std::int32_t cost = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return ec == std::errc{} && end == text.data() + text.size() && std::to_string(cost) == text;
}

void ValidateSeccompText(std::string_view profile, const FieldPath& path, FieldErrors& errors) {
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined") return;
  if (profile.starts_with(kLocalhost))
    return CheckDescendingPath(profile.substr(kLocalhost.size()), path, errors);
  errors.Invalid(path, profile, "must be a valid seccomp profile");
}

bool HasContainer(const Value& spec, std::string_view name) {
  bool found = false;
  ForEachContainer(spec, FieldPath(), [&](const Value& container, const FieldPath&) {
    found = found || Text(container, "name") == name;
  });
  return found;
}

void ValidateAppArmorText(std::string_view key, std::string_view profile, const Value& spec,
                          const FieldPath& path, FieldErrors& errors) {
  const std::string_view container = key.substr(kAppArmorPrefix.size());
  if (!HasContainer(spec, container)) errors.Invalid(path.Key(key), container, "container not found");
  const bool known = profile.empty() || profile == "runtime/default" || profile == "unconfined";
  if (known || profile.starts_with(kLocalhost)) return;
  errors.Invalid(path.Key(key), profile, "invalid AppArmor profile name: " + GoQuote(profile));
}

// Compares one annotation with the field that replaced it.
void CheckSame(const Value* annotation, const Value& profile, std::string_view what, const FieldPath& path,
               FieldErrors& errors) {
  if (annotation == nullptr || profile.is_null()) return;
  const std::string_view text = annotation->string_or({});
  const std::string_view type = Text(profile, "type");
  const std::string mismatch = std::string(what) + " type in annotation and field must match";
  const bool docker = what == "seccomp" && text == "docker/default";
  if (type == "Unconfined" && text != "unconfined") errors.Forbidden(path.Child("type"), mismatch);
  if (type == "RuntimeDefault" && text != "runtime/default" && !docker)
    errors.Forbidden(path.Child("type"), mismatch);
  if (type != "Localhost") return;
  if (!text.starts_with(kLocalhost)) return errors.Forbidden(path.Child("type"), mismatch);
  if (text.substr(kLocalhost.size()) != Text(profile, "localhostProfile")) {
    errors.Forbidden(path.Child("localhostProfile"),
                     std::string(what) + " profile in annotation and field must match");
  }
}

// What an annotation's value says in the field that replaced it; null if it says nothing that is good.
Value AppArmorProfileOf(std::string_view text) {
  if (text == "unconfined") return json::Object{{"type", "Unconfined"}};
  if (text == "runtime/default") return json::Object{{"type", "RuntimeDefault"}};
  if (!text.starts_with(kLocalhost) || text.size() == kLocalhost.size()) return {};
  return json::Object{{"type", "Localhost"}, {"localhostProfile", text.substr(kLocalhost.size())}};
}

}  // namespace

void SetAppArmorProfiles(Value& pod) {
  const Value& annotations = std::as_const(pod)["metadata"]["annotations"];
  if (!annotations.is_object() || Text(std::as_const(pod)["spec"]["os"], "name") == "windows") return;
  const Value whole = std::as_const(pod)["spec"]["securityContext"]["appArmorProfile"];
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    Value* containers = pod["spec"].Find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Value& container : containers->as_array()) {
      const Value* text = annotations.Find(std::string(kAppArmorPrefix).append(Text(container, "name")));
      if (text == nullptr || !std::as_const(container)["securityContext"]["appArmorProfile"].is_null())
        continue;
      Value profile = AppArmorProfileOf(text->string_or({}));
      if (profile.is_null() || profile == whole) continue;
      container["securityContext"]["appArmorProfile"] = std::move(profile);
    }
  }
}

void ValidatePodAnnotations(const Value& annotations, const Value& spec, const FieldPath& path,
                            FieldErrors& errors) {
  if (!annotations.is_object()) return;
  if (const Value* mirror = annotations.Find(kMirrorAnnotation); mirror && Text(spec, "nodeName").empty()) {
    errors.Invalid(path.Key(kMirrorAnnotation), *mirror,
                   "must set spec.nodeName if mirror pod annotation is set");
  }
  if (const Value* cost = annotations.Find(kDeletionCost); cost && !IsDeletionCost(cost->string_or({}))) {
    errors.Invalid(path.Key(kDeletionCost), *cost, "must be a 32bit integer");
  }
  if (const Value* profile = annotations.Find(kSeccompPod)) {
    ValidateSeccompText(profile->string_or({}), path.Child(kSeccompPod), errors);
  }
  for (const auto& [key, profile] : annotations.as_object()) {
    if (key.starts_with(kSeccompPrefix)) ValidateSeccompText(profile.string_or({}), path.Child(key), errors);
  }
  for (const auto& [key, profile] : annotations.as_object()) {
    if (key.starts_with(kAppArmorPrefix))
      ValidateAppArmorText(key, profile.string_or({}), spec, path, errors);
  }
}

void ValidateProfileAnnotations(const Value& annotations, const Value& spec, const FieldPath& path,
                                FieldErrors& errors) {
  if (!annotations.is_object()) return;
  const Value& pod_security = spec["securityContext"];
  CheckSame(annotations.Find(kSeccompPod), pod_security["seccompProfile"], "seccomp",
            path.Child("securityContext").Child("seccompProfile"), errors);
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    const std::string key = std::string(kSeccompPrefix).append(Text(container, "name"));
    CheckSame(annotations.Find(key), container["securityContext"]["seccompProfile"], "seccomp",
              here.Child("securityContext").Child("seccompProfile"), errors);
  });
  if (Text(spec["os"], "name") == "windows") return;
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    const Value& own = container["securityContext"]["appArmorProfile"];
    const std::string key = std::string(kAppArmorPrefix).append(Text(container, "name"));
    CheckSame(annotations.Find(key), own.is_null() ? pod_security["appArmorProfile"] : own, "apparmor",
              here.Child("securityContext").Child("appArmorProfile"), errors);
  });
}

}  // namespace flyball::api
