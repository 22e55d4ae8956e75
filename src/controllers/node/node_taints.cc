#include "controllers/node/node_taints.h"

#include <algorithm>
#include <array>

namespace flyball::controllers {
namespace {

constexpr char kNoSchedule[] = "NoSchedule";
constexpr char kNoExecute[] = "NoExecute";
constexpr char kUnschedulable[] = "node.kubernetes.io/unschedulable";

struct ConditionTaint {
  std::string_view type, status, key;
};
constexpr std::array kConditionTaints = {
    ConditionTaint{"Ready", "False", kNotReady},
    ConditionTaint{"Ready", "Unknown", kUnreachable},
    ConditionTaint{"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    ConditionTaint{"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    ConditionTaint{"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    ConditionTaint{"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};

// Whether a taint with this key follows from the node's conditions, and was not added by someone else.
bool IsOurs(std::string_view key) {
  return key == kUnschedulable || std::any_of(kConditionTaints.begin(), kConditionTaints.end(),
                                              [&](const ConditionTaint& rule) { return rule.key == key; });
}

void SetTaint(std::vector<Taint>& taints, std::string_view key, const char* effect, bool wanted,
              api::Time now) {
  const bool has = HasTaint(taints, key, effect);
  if (has && !wanted)
    std::erase_if(taints, [&](const Taint& taint) { return taint.key == key && taint.effect == effect; });
  if (has || !wanted) return;
  Taint taint;
  taint.key = key;
  taint.effect = effect;
  taint.time_added = now;
  taints.push_back(std::move(taint));
}

}  // namespace

bool HasTaint(const std::vector<Taint>& taints, std::string_view key, std::string_view effect) {
  return std::any_of(taints.begin(), taints.end(),
                     [&](const Taint& taint) { return taint.key == key && taint.effect == effect; });
}

void SetNoScheduleTaints(Node& node, api::Time now) {
  // New taints follow the order of their conditions.
  std::vector<std::string_view> wanted;
  for (const NodeCondition& condition : node.status.conditions)
    for (const ConditionTaint& rule : kConditionTaints)
      if (rule.type == condition.type && rule.status == condition.status) wanted.push_back(rule.key);
  if (node.spec.unschedulable) wanted.push_back(kUnschedulable);
  for (const std::string_view key : wanted) SetTaint(node.spec.taints, key, kNoSchedule, true, now);
  std::erase_if(node.spec.taints, [&](const Taint& taint) {
    return taint.effect == kNoSchedule && IsOurs(taint.key) &&
           std::find(wanted.begin(), wanted.end(), taint.key) == wanted.end();
  });
}

void SetNoExecuteTaint(Node& node, std::string_view key, api::Time now) {
  SetTaint(node.spec.taints, kNotReady, kNoExecute, key == kNotReady, now);
  SetTaint(node.spec.taints, kUnreachable, kNoExecute, key == kUnreachable, now);
}

}  // namespace flyball::controllers
