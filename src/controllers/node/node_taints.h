// Which taints a node has because of its conditions.
#pragma once

#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball::controllers {

inline constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
inline constexpr char kUnreachable[] = "node.kubernetes.io/unreachable";
inline constexpr char kOutOfService[] = "node.kubernetes.io/out-of-service";

bool HasTaint(const std::vector<Taint>& taints, std::string_view key, std::string_view effect);

// Brings the NoSchedule taints that follow from conditions, and from spec.unschedulable, up to date; others
// stay. Nobody is evicted by them.
void SetNoScheduleTaints(Node& node, api::Time now);
// not-ready or unreachable with effect NoExecute, as `key` says; "" for neither.
void SetNoExecuteTaint(Node& node, std::string_view key, api::Time now);

}  // namespace flyball::controllers
