// The annotations that mean something in a pod: mirror pods, deletion cost, seccomp and AppArmor of old.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
inline constexpr std::string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

// Gives containers of a new pod the AppArmor profile that its old annotations name, where they have none.
void SetAppArmorProfiles(json::Value& pod);

// Old annotations and the fields that replaced them must say the same. `path` is the spec's.
void ValidateProfileAnnotations(const json::Value& annotations, const json::Value& spec,
                                const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
