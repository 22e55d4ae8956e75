// What `debug` gives its container, and what it leaves out of the copy of a pod (upstream: kubectl's debug
// profiles).
#pragma once

#include <string>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

// What of a pod its copy keeps.
struct KeepFlags {
  bool labels = false, annotations = false, liveness = false, readiness = false, startup = false;
  bool init_containers = true;
};

struct DebugProfile {
  std::string name = "general";
  KeepFlags keep{};
  json::Value custom{};  // fields of a container, merged into ours; null: none
};

// How a pod or node is looked into.
enum class DebugStyle { kEphemeral, kCopy, kNode };

// BadRequest, in kubectl's words, for an unknown profile, or custom fields that must not be set.
Status CheckProfile(const DebugProfile& profile);

// Applies the profile to the container of that name in `pod`, the pod as it will be.
Status ApplyProfile(const DebugProfile& profile, DebugStyle style, const std::string& container,
                    json::Value& pod);

// Whether what the profile grants may not work, because the pod runs as somebody else than root.
bool NeedsRoot(const json::Value& pod, const std::string& container);

}  // namespace flyball::cli
