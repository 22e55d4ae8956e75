#include "controller/pods/deletion_rank.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>
#include <unordered_map>

#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kDeletionCost[] = "controller.kubernetes.io/pod-deletion-cost";

int PhaseRank(const std::string& phase) {
  if (phase == "Pending") return 0;
  if (phase == "Unknown") return 1;
  return 2;
}

int DeletionCost(const Pod& pod) {
  const auto found = pod.metadata.annotations.find(kDeletionCost);
  if (found == pod.metadata.annotations.end()) return 0;
  const std::string& text = found->second;
  int cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return error == std::errc() && end == text.data() + text.size() ? cost : 0;
}

// Smaller values are deleted first. Times are negated: the later the time, the earlier the pod is deleted.
using Rank = std::tuple<bool, int, bool, int, int, std::int64_t, int, std::int64_t>;

Rank RankOf(const Pod& pod, int related_on_node) {
  const bool ready = IsPodReady(pod);
  const auto since = ready ? ReadyTransition(pod).value_or(api::Time{}) : api::Time{};
  const auto created = pod.metadata.creation_timestamp.value_or(api::Time{});
  return {!pod.spec.node_name.empty(),
          PhaseRank(pod.status.phase),
          ready,
          DeletionCost(pod),
          -related_on_node,
          -since.seconds,
          -MaxRestarts(pod),
          -created.seconds};
}

}  // namespace

std::vector<PodPtr> PodsToDelete(std::vector<PodPtr> pods, const std::vector<PodPtr>& related,
                                 std::size_t count) {
  // All of them are deleted, so their order does not matter.
  if (count >= pods.size()) return pods;
  std::unordered_map<std::string, int> on_node;
  for (const PodPtr& pod : related)
    if (!pod->spec.node_name.empty()) ++on_node[pod->spec.node_name];
  std::vector<std::pair<Rank, PodPtr>> ranked;
  ranked.reserve(pods.size());
  for (PodPtr& pod : pods) {
    const auto found = on_node.find(pod->spec.node_name);
    ranked.emplace_back(RankOf(*pod, found == on_node.end() ? 0 : found->second), std::move(pod));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PodPtr> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(std::move(ranked[i].second));
  return chosen;
}

}  // namespace flyball::controllers
