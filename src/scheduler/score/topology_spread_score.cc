#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "scheduler/filter/topology_spread.h"

namespace flyball::scheduler {
namespace {

constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr std::int64_t kMaxSpreadScore = 100;

// Upstream's constraints for pods without their own.
std::vector<SpreadConstraint> DefaultConstraints(const api::Optional<LabelSelector>& group) {
  if (!group) return {};
  return {{.max_skew = 3, .topology_key = kHostname, .selector = group},
          {.max_skew = 5, .topology_key = kZone, .selector = group}};
}

class SpreadScorer {
 public:
  SpreadScorer(const PodInfo& pod, std::vector<SpreadConstraint> constraints, bool need_all_keys)
      : pod_(pod),
        constraints_(std::move(constraints)),
        need_all_keys_(need_all_keys),
        counts_(constraints_.size()) {}

  std::vector<std::int64_t> Score(const Snapshot& snapshot, const std::vector<const NodeInfo*>& feasible) {
    SizeDomains(feasible);
    for (const NodeInfo* node : snapshot.nodes) CountNode(*node);
    std::vector<std::int64_t> scores;
    for (const NodeInfo* node : feasible) scores.push_back(Usable(*node) ? RawScore(*node) : kIgnored);
    Normalize(scores);
    return scores;
  }

 private:
  static constexpr std::int64_t kIgnored = -1;

  bool Usable(const NodeInfo& node) const {
    return !need_all_keys_ || std::all_of(constraints_.begin(), constraints_.end(), [&](const auto& c) {
      return node.Label(c.topology_key) != nullptr;
    });
  }
  bool PerNode(const SpreadConstraint& constraint) const { return constraint.topology_key == kHostname; }

  // The more domains there are, the more a pod in one of them weighs.
  void SizeDomains(const std::vector<const NodeInfo*>& feasible) {
    std::vector<const NodeInfo*> usable;
    for (const NodeInfo* node : feasible)
      if (Usable(*node)) usable.push_back(node);
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      std::size_t size = usable.size();
      if (!PerNode(constraints_[i])) {
        for (const NodeInfo* node : usable)
          if (const std::string* value = node->Label(constraints_[i].topology_key))
            counts_[i].try_emplace(*value, 0);
        size = counts_[i].size();
      }
      weights_.push_back(std::log(static_cast<double>(size + 2)));
    }
  }

  std::int64_t MatchesOn(const SpreadConstraint& constraint, const NodeInfo& node) const {
    std::int64_t matches = 0;
    for (const auto& [likeness, alike] : node.alike())
      if (constraint.Matches(*alike.one->pod, pod_.ns())) matches += alike.count;
    return matches;
  }

  void CountNode(const NodeInfo& node) {
    if (!Usable(node)) return;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const SpreadConstraint& constraint = constraints_[i];
      const std::string* value = node.Label(constraint.topology_key);
      if (PerNode(constraint) || !value || !constraint.Includes(*pod_.pod, *node.node())) continue;
      if (const auto found = counts_[i].find(*value); found != counts_[i].end())
        found->second += MatchesOn(constraint, node);
    }
  }

  std::int64_t RawScore(const NodeInfo& node) const {
    double score = 0;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const std::string* value = node.Label(constraints_[i].topology_key);
      if (!value) continue;
      const std::int64_t count =
          PerNode(constraints_[i]) ? MatchesOn(constraints_[i], node) : counts_[i].at(*value);
      score += static_cast<double>(count) * weights_[i] + constraints_[i].max_skew - 1;
    }
    return std::llround(score);
  }

  static void Normalize(std::vector<std::int64_t>& scores) {
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest = 0;
    for (const std::int64_t score : scores) {
      if (score == kIgnored) continue;
      lowest = std::min(lowest, score);
      highest = std::max(highest, score);
    }
    for (std::int64_t& score : scores) {
      if (score == kIgnored)
        score = 0;
      else
        score = highest == 0 ? kMaxSpreadScore : kMaxSpreadScore * (highest + lowest - score) / highest;
    }
  }

  const PodInfo& pod_;
  const std::vector<SpreadConstraint> constraints_;
  const bool need_all_keys_;
  std::vector<std::map<std::string, std::int64_t>> counts_;
  std::vector<double> weights_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> TopologySpreadScores(const PodInfo& pod,
                                                              const api::Optional<LabelSelector>& group,
                                                              const Snapshot& snapshot,
                                                              const std::vector<const NodeInfo*>& feasible) {
  const bool own = !pod.pod->spec.topology_spread_constraints.empty();
  auto constraints = own ? ConstraintsOf(*pod.pod, "ScheduleAnyway") : DefaultConstraints(group);
  if (constraints.empty()) return std::nullopt;
  return SpreadScorer(pod, std::move(constraints), own).Score(snapshot, feasible);
}

}  // namespace flyball::scheduler
