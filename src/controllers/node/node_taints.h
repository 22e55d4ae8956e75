// The taints that follow from a node's conditions.
#pragma once

#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball::controllers {

inline constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
inline constexpr char kUnreachable[] = "node.kubernetes.io/unreachable";
inline constexpr char kOutOfService[] = "node.kubernetes.io/out-of-service";

bool HasTaint(const std::vector<Taint>& taints, std::string_view key, std::string_view effect);

// Updates the NoSchedule taints that follow from conditions and from spec.unschedulable; other taints stay.
// These taints evict no pods.
void SetNoScheduleTaints(Node& node, api::Time now);
// Sets the taint not-ready or unreachable with effect NoExecute, as `key` says; "" for neither.
void SetNoExecuteTaint(Node& node, std::string_view key, api::Time now);

}  // namespace flyball::controllers
