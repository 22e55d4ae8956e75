#include "scheduler/placement.h"

#include <algorithm>
#include <optional>
#include <set>

namespace flyball::scheduler {
namespace {

constexpr char kNotNamed[] = "node(s) didn't satisfy plugin(s) [NodeAffinity]";
constexpr char kNameConflict[] = "pod affinity terms conflict";
constexpr std::size_t kAlwaysEnough = 100;

// How many feasible nodes are enough to choose from (upstream: numFeasibleNodesToFind).
std::size_t EnoughNodes(std::size_t all) {
  if (all < kAlwaysEnough) return all;
  const std::size_t percent = all / 125 >= 45 ? 5 : 50 - all / 125;
  return std::max(kAlwaysEnough, all * percent / 100);
}

const NodeInfo* PickBest(const std::vector<NodeScore>& scores, Random& random) {
  const auto best = std::max_element(
      scores.begin(), scores.end(), [](const NodeScore& a, const NodeScore& b) { return a.total < b.total; });
  std::vector<const NodeInfo*> ties;
  for (const NodeScore& score : scores)
    if (score.total == best->total) ties.push_back(score.node);
  return ties[random.Below(ties.size())];
}

std::vector<const NodeInfo*> FindFeasible(const PodInfo& pod, const Snapshot& snapshot, std::size_t& start,
                                          const std::optional<std::set<std::string>>& named,
                                          PodDevices* devices, PodVolumes* volumes, Placement& placement) {
  const FilterState state(pod, snapshot);
  std::vector<const NodeInfo*> feasible;
  const std::size_t all = snapshot.nodes.size();
  const std::size_t enough = EnoughNodes(all);
  std::size_t looked_at = 0;
  for (; looked_at < all && feasible.size() < enough; ++looked_at) {
    const NodeInfo* node = snapshot.nodes[(start + looked_at) % all];
    Rejection rejection =
        named && !named->contains(node->name()) ? Rejection{{kNotNamed}, true} : state.Check(*node);
    if (rejection.ok() && volumes) rejection = volumes->Check(*node->node());
    if (rejection.ok() && devices) rejection = devices->Check(*node->node());
    if (rejection.ok())
      feasible.push_back(node);
    else
      placement.rejections.emplace(node->name(), std::move(rejection));
  }
  start = (start + looked_at) % all;
  return feasible;
}

std::string Explain(const Placement& placement, std::size_t nodes) {
  if (nodes == 0) return "no nodes available to schedule pods";
  std::map<std::string, int> reasons;
  for (const auto& [node, rejection] : placement.rejections)
    for (const std::string& reason : rejection.reasons) ++reasons[reason];
  return FitMessage(nodes, reasons);
}

}  // namespace

std::string FitMessage(std::size_t nodes, const std::map<std::string, int>& reasons) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  std::string message = "0/" + std::to_string(nodes) + " nodes are available";
  for (std::size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? ": " : ", ") + parts[i];
  return message + ".";
}

Placement Place(const PodInfo& pod, const api::Optional<LabelSelector>& group, const Snapshot& snapshot,
                Random& random, std::size_t& start, PodDevices* devices, PodVolumes* volumes) {
  Placement placement;
  const std::size_t count = snapshot.nodes.size();
  const auto named = NamedNodes(pod.pod->spec);
  if (count > 0 && named && named->empty()) placement.conflict = kNameConflict;
  if (count > 0 && devices && devices->state() == PodDevices::State::kConflict)
    placement.conflict = devices->why();
  if (count > 0 && volumes && !volumes->conflict().empty()) placement.conflict = volumes->conflict();
  if (!placement.conflict.empty()) {
    placement.message = "0/" + std::to_string(count) + " nodes are available: " + placement.conflict + ".";
    return placement;
  }
  std::vector<const NodeInfo*> feasible;
  if (count > 0) feasible = FindFeasible(pod, snapshot, start, named, devices, volumes, placement);
  if (feasible.empty()) {
    placement.message = Explain(placement, count);
  } else if (feasible.size() == 1) {
    placement.node = feasible[0]->name();
  } else {
    placement.scores = ScoreNodes(pod, group, snapshot, feasible);
    placement.node = PickBest(placement.scores, random)->name();
  }
  return placement;
}

}  // namespace flyball::scheduler
