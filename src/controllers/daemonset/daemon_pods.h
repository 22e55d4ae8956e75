// The pods of a DaemonSet: where they should run, and what they look like.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"
#include "api/types/core.h"

namespace flyball::controllers {

using PodPtr = std::shared_ptr<const Pod>;

inline constexpr char kDaemonHash[] = "controller-revision-hash";
inline constexpr char kTemplateGeneration[] = "deprecated.daemonset.template.generation";

struct DaemonPlacement {
  bool run = false;   // a pod should be started here
  bool stay = false;  // an existing pod may keep running
};
DaemonPlacement PlacementOn(const DaemonSet& set, const Node& node);

// The node that a pod is on, or is meant for; "" if it names neither.
std::string TargetNode(const Pod& pod);
// Whether the pod was created from the current template.
bool IsUpToDate(const DaemonSet& set, const Pod& pod, const std::string& hash);
Pod NewDaemonPod(const DaemonSet& set, const std::string& node, const std::string& hash);

// Limits of a rolling update as numbers of nodes; `nodes` is how many should run the pod.
struct DaemonLimits {
  int max_unavailable = 0;
  int max_surge = 0;
};
DaemonLimits DaemonLimitsOf(const DaemonSet& set, int nodes);

}  // namespace flyball::controllers
