#include "controllers/daemonset/daemon_pods.h"

#include <algorithm>
#include <array>

#include "api/select/matching.h"
#include "controller/pods/pod_from_template.h"

namespace flyball::controllers {
namespace {

constexpr char kGenerationLabel[] = "pod-template-generation";

// A daemon belongs to its node, whatever state the node is in.
constexpr std::array<std::pair<const char*, const char*>, 6> kTolerated = {
    {{"node.kubernetes.io/not-ready", "NoExecute"},
     {"node.kubernetes.io/unreachable", "NoExecute"},
     {"node.kubernetes.io/disk-pressure", "NoSchedule"},
     {"node.kubernetes.io/memory-pressure", "NoSchedule"},
     {"node.kubernetes.io/pid-pressure", "NoSchedule"},
     {"node.kubernetes.io/unschedulable", "NoSchedule"}}};

void AddToleration(PodSpec& spec, const char* key, const char* effect) {
  Toleration toleration;
  toleration.key = key;
  toleration.operator_ = "Exists";
  toleration.effect = effect;
  for (Toleration& known : spec.tolerations) {
    if (known.key != key || known.effect != effect) continue;
    known = toleration;
    return;
  }
  spec.tolerations.push_back(std::move(toleration));
}

void AddDaemonTolerations(PodSpec& spec) {
  for (const auto& [key, effect] : kTolerated) AddToleration(spec, key, effect);
  if (spec.host_network) AddToleration(spec, "node.kubernetes.io/network-unavailable", "NoSchedule");
}

// The scheduler places it, and only there.
void PinTo(const std::string& node, PodSpec& spec) {
  NodeSelectorTerm term;
  term.match_fields.push_back({"metadata.name", "In", {node}});
  if (!spec.affinity) spec.affinity.emplace();
  if (!spec.affinity->node_affinity) spec.affinity->node_affinity.emplace();
  spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution.emplace()
      .node_selector_terms = {std::move(term)};
}

std::string GenerationOf(const DaemonSet& set) {
  const auto found = set.metadata.annotations.find(kTemplateGeneration);
  return found == set.metadata.annotations.end() ? "" : found->second;
}

bool HasLabel(const Pod& pod, const char* name, const std::string& value) {
  const auto found = pod.metadata.labels.find(name);
  return !value.empty() && found != pod.metadata.labels.end() && found->second == value;
}

int ScaledUp(const std::optional<api::IntOrString>& value, int total) {
  if (!value) return 0;
  const auto scaled = value->Scaled(total, true);
  return scaled ? static_cast<int>(*scaled) : 0;
}

}  // namespace

DaemonPlacement PlacementOn(const DaemonSet& set, const Node& node) {
  PodSpec spec = set.spec.template_.spec;
  AddDaemonTolerations(spec);
  if (!spec.node_name.empty() && spec.node_name != node.metadata.name) return {};
  if (!MatchesRequiredNodeAffinity(spec, node)) return {};
  const bool may_stay = ToleratesAll(spec, node, "NoExecute");
  return {may_stay && ToleratesAll(spec, node, "NoSchedule"), may_stay};
}

std::string TargetNode(const Pod& pod) {
  if (!pod.spec.node_name.empty()) return pod.spec.node_name;
  if (!pod.spec.affinity || !pod.spec.affinity->node_affinity) return "";
  const auto& required =
      pod.spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
  if (!required) return "";
  for (const NodeSelectorTerm& term : required->node_selector_terms)
    for (const NodeSelectorRequirement& r : term.match_fields)
      if (r.key == "metadata.name" && r.operator_ == "In" && r.values.size() == 1) return r.values[0];
  return "";
}

bool IsUpToDate(const DaemonSet& set, const Pod& pod, const std::string& hash) {
  return HasLabel(pod, kDaemonHash, hash) || HasLabel(pod, kGenerationLabel, GenerationOf(set));
}

Pod NewDaemonPod(const DaemonSet& set, const std::string& node, const std::string& hash) {
  Pod pod = PodFromTemplate(set.spec.template_, set);
  if (const std::string generation = GenerationOf(set); !generation.empty())
    pod.metadata.labels[kGenerationLabel] = generation;
  pod.metadata.labels[kDaemonHash] = hash;
  AddDaemonTolerations(pod.spec);
  PinTo(node, pod.spec);
  return pod;
}

DaemonLimits DaemonLimitsOf(const DaemonSet& set, int nodes) {
  const auto& rolling = set.spec.update_strategy.rolling_update;
  DaemonLimits limits;
  if (rolling) limits = {ScaledUp(rolling->max_unavailable, nodes), ScaledUp(rolling->max_surge, nodes)};
  if (limits.max_unavailable == 0 && limits.max_surge == 0) limits.max_unavailable = 1;
  return limits;
}

}  // namespace flyball::controllers
