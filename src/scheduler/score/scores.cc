#include "scheduler/score/scores.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "scheduler/filter/pod_affinity.h"
#include "scheduler/filter/topology_spread.h"

namespace flyball::scheduler {
namespace {

using Scores = std::optional<std::vector<std::int64_t>>;
using Nodes = std::vector<const NodeInfo*>;

constexpr std::int64_t kMaxScore = 100;
constexpr std::int64_t kMiB = 1024 * 1024;
// Images smaller than the first value are quick to fetch; above the second value the size no longer matters.
constexpr std::int64_t kSmallImage = 23 * kMiB;
constexpr std::int64_t kLargeImage = 1000 * kMiB;

template <typename Fn>
std::vector<std::int64_t> ForEach(const Nodes& nodes, Fn fn) {
  std::vector<std::int64_t> scores;
  scores.reserve(nodes.size());
  for (const NodeInfo* node : nodes) scores.push_back(fn(*node));
  return scores;
}

// Scales the scores so that the largest becomes 100; if reversed, the smallest is best.
void ScaleToMax(std::vector<std::int64_t>& scores, bool reverse) {
  const std::int64_t highest = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  for (std::int64_t& score : scores) {
    score = highest == 0 ? 0 : kMaxScore * score / highest;
    if (reverse) score = kMaxScore - score;
  }
}

Scores TaintToleration(const PodInfo& pod, const Nodes& nodes) {
  std::vector<Toleration> tolerations;
  for (const Toleration& toleration : pod.pod->spec.tolerations)
    if (toleration.effect.empty() || toleration.effect == "PreferNoSchedule")
      tolerations.push_back(toleration);
  auto scores = ForEach(nodes, [&](const NodeInfo& node) {
    const auto& taints = node.node()->spec.taints;
    return std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
      return taint.effect == "PreferNoSchedule" && !Tolerates(tolerations, taint);
    });
  });
  ScaleToMax(scores, true);
  return scores;
}

Scores PreferredNodeAffinity(const PodInfo& pod, const Nodes& nodes) {
  const auto& affinity = pod.pod->spec.affinity;
  if (!affinity || !affinity->node_affinity) return std::nullopt;
  const auto& terms = affinity->node_affinity->preferred_during_scheduling_ignored_during_execution;
  if (terms.empty()) return std::nullopt;
  auto scores = ForEach(nodes, [&](const NodeInfo& node) {
    std::int64_t sum = 0;
    for (const PreferredSchedulingTerm& term : terms)
      if (Matches(term.preference, *node.node())) sum += term.weight;
    return sum;
  });
  ScaleToMax(scores, false);
  return scores;
}

std::int64_t FreeShare(std::int64_t used, std::int64_t has) {
  return used > has ? 0 : (has - used) * kMaxScore / has;
}

Scores LeastAllocated(const PodInfo& pod, const Nodes& nodes) {
  return ForEach(nodes, [&](const NodeInfo& node) {
    const Resources& has = node.allocatable();
    const Resources& used = node.nonzero_requested();
    const Resources& wanted = pod.nonzero_requests;
    std::int64_t sum = 0;
    std::int64_t resources = 0;
    if (has.milli_cpu > 0) sum += FreeShare(used.milli_cpu + wanted.milli_cpu, has.milli_cpu), ++resources;
    if (has.memory > 0) sum += FreeShare(used.memory + wanted.memory, has.memory), ++resources;
    return resources == 0 ? 0 : sum / resources;
  });
}

double Fraction(std::int64_t used, std::int64_t has) {
  return std::min(1.0, static_cast<double>(used) / static_cast<double>(has));
}

// How evenly cpu and memory are used: 50 to 100.
std::int64_t Balance(std::int64_t cpu, std::int64_t memory, const Resources& has) {
  const double uneven = std::abs(Fraction(cpu, has.milli_cpu) - Fraction(memory, has.memory));
  return static_cast<std::int64_t>((1 - uneven / 2) * static_cast<double>(kMaxScore));
}

// What the pod does to the node's balance: 75 if nothing, more if it evens the node out.
Scores BalancedAllocation(const PodInfo& pod, const Nodes& nodes) {
  const Resources& wanted = pod.requests;
  if (wanted.milli_cpu == 0 && wanted.memory == 0) return std::nullopt;
  return ForEach(nodes, [&](const NodeInfo& node) -> std::int64_t {
    const Resources& has = node.allocatable();
    const Resources& used = node.requested();
    constexpr std::int64_t kHalf = kMaxScore / 2;
    if (has.milli_cpu == 0 || has.memory == 0) return kHalf + kHalf / 2;
    const std::int64_t with = Balance(used.milli_cpu + wanted.milli_cpu, used.memory + wanted.memory, has);
    const std::int64_t without = Balance(used.milli_cpu, used.memory, has);
    return kHalf + (kHalf + with - without) / 2;
  });
}

Scores InterPodAffinity(const PodInfo& pod, const Snapshot& snapshot, const Nodes& nodes) {
  Scores scores = PodAffinityScores(pod, snapshot, nodes);
  if (!scores || scores->empty()) return scores;
  const auto [low, high] = std::minmax_element(scores->begin(), scores->end());
  const std::int64_t lowest = *low;
  const std::int64_t range = *high - lowest;
  for (std::int64_t& score : *scores)
    score =
        range == 0
            ? 0
            : static_cast<std::int64_t>(static_cast<double>(kMaxScore) *
                                        (static_cast<double>(score - lowest) / static_cast<double>(range)));
  return scores;
}

std::string WithTag(const std::string& image) {
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return tagged ? image : image + ":latest";
}

Scores ImageLocality(const PodInfo& pod, const Snapshot& snapshot, const Nodes& nodes) {
  std::map<std::string, std::int64_t> holders;
  const PodSpec& spec = pod.pod->spec;
  std::vector<std::string> images;
  for (const auto* containers : {&spec.init_containers, &spec.containers})
    for (const Container& container : *containers) images.push_back(WithTag(container.image));
  for (const std::string& image : images)
    if (!holders.contains(image))
      holders[image] = std::count_if(snapshot.nodes.begin(), snapshot.nodes.end(),
                                     [&](const NodeInfo* node) { return node->ImageSize(image) > 0; });
  const auto total_nodes = static_cast<double>(snapshot.nodes.size());
  const std::int64_t ceiling = kLargeImage * static_cast<std::int64_t>(images.size());
  return ForEach(nodes, [&](const NodeInfo& node) {
    std::int64_t sum = 0;
    for (const std::string& image : images)
      sum += static_cast<std::int64_t>(static_cast<double>(node.ImageSize(image)) *
                                       (static_cast<double>(holders[image]) / total_nodes));
    sum = std::clamp(sum, kSmallImage, ceiling);
    return kMaxScore * (sum - kSmallImage) / (ceiling - kSmallImage);
  });
}

}  // namespace

std::vector<NodeScore> ScoreNodes(const PodInfo& pod, const api::Optional<LabelSelector>& group,
                                  const Snapshot& snapshot, const std::vector<const NodeInfo*>& feasible) {
  std::vector<NodeScore> result;
  for (const NodeInfo* node : feasible) result.push_back({node, 0, {}});
  const auto add = [&](const char* plugin, std::int64_t weight, const Scores& scores) {
    if (!scores) return;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i].plugins[plugin] = weight * (*scores)[i];
      result[i].total += weight * (*scores)[i];
    }
  };
  add("TaintToleration", 3, TaintToleration(pod, feasible));
  add("NodeAffinity", 2, PreferredNodeAffinity(pod, feasible));
  add("PodTopologySpread", 2, TopologySpreadScores(pod, group, snapshot, feasible));
  add("InterPodAffinity", 2, InterPodAffinity(pod, snapshot, feasible));
  add("NodeResourcesFit", 1, LeastAllocated(pod, feasible));
  add("NodeResourcesBalancedAllocation", 1, BalancedAllocation(pod, feasible));
  add("ImageLocality", 1, ImageLocality(pod, snapshot, feasible));
  // Storage capacity and devices do not rank nodes here; upstream's plugins are listed with 0 then.
  const Scores none = ForEach(feasible, [](const NodeInfo&) { return std::int64_t{0}; });
  add("VolumeBinding", 1, none);
  add("DynamicResources", 2, none);
  return result;
}

}  // namespace flyball::scheduler
