#include "scheduler/preemption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace flyball::scheduler {
namespace {

constexpr char kPrefix[] = "preemption: ";
constexpr char kNotHelpful[] = "Preemption is not helpful for scheduling";
constexpr char kNoVictims[] = "No preemption victims found for incoming pod";
// Makes sums of priorities positive, so that more victims are never better than fewer.
constexpr std::int64_t kPriorityOffset = std::int64_t{1} << 31;

using Budgets = std::vector<std::shared_ptr<const PodDisruptionBudget>>;

api::Time StartOf(const PodInfo& pod) {
  // A pod without a start time counts as starting now, later than all that have one.
  static constexpr api::Time kNever{.seconds = std::int64_t{1} << 60};
  return pod.pod->status.start_time.value_or(kNever);
}

// Of two that have not started the first one on the node counts as more important, as upstream, where such a
// pod starts at the moment it is looked at.
void SortByImportance(std::vector<PodInfoPtr>& pods) {
  std::stable_sort(pods.begin(), pods.end(), [](const PodInfoPtr& a, const PodInfoPtr& b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    return StartOf(*a) < StartOf(*b);
  });
}

struct Candidate {
  const NodeInfo* node = nullptr;
  std::vector<PodInfoPtr> victims;
  int violations = 0;  // violations of disruption budgets
};

// How many more evictions each budget allows; decreases as they are used.
class BudgetLedger {
 public:
  explicit BudgetLedger(const Budgets& budgets) : budgets_(budgets) {
    for (const auto& budget : budgets) left_.push_back(budget->status.disruptions_allowed);
  }
  // Charges the pod to every budget that covers it. Returns true if one of them is exhausted.
  bool Violates(const Pod& pod) {
    bool violates = false;
    for (std::size_t i = 0; i < budgets_.size(); ++i) {
      if (!Covers(*budgets_[i], pod)) continue;
      if (--left_[i] < 0) violates = true;
    }
    return violates;
  }

 private:
  static bool Covers(const PodDisruptionBudget& budget, const Pod& pod) {
    if (pod.metadata.labels.empty() || budget.metadata.namespace_ != pod.metadata.namespace_) return false;
    const auto& selector = budget.spec.selector;
    if (!selector || (selector->match_labels.empty() && selector->match_expressions.empty())) return false;
    // Evictions in progress are already counted.
    return Matches(*selector, pod.metadata.labels) &&
           !budget.status.disrupted_pods.contains(pod.metadata.name);
  }

  const Budgets& budgets_;
  std::vector<std::int32_t> left_;
};

class DryRun {
 public:
  DryRun(const PodInfo& pod, const NodeInfo& node, const FilterState& state)
      : pod_(pod), original_(node), node_(node), state_(state) {}

  // Returns the fewest and least important pods whose eviction makes room; otherwise nothing, and the
  // reasons.
  std::optional<Candidate> Run(const Budgets& budgets, std::vector<std::string>& reasons) {
    std::vector<PodInfoPtr> lower;
    for (const PodInfoPtr& other : original_.pods())
      if (other->priority < pod_.priority) lower.push_back(other);
    if (lower.empty()) {
      reasons = {kNoVictims};
      return std::nullopt;
    }
    for (const PodInfoPtr& other : lower) Remove(other);
    if (Rejection rejection = state_.Check(node_); !rejection.ok()) {
      reasons = std::move(rejection.reasons);
      return std::nullopt;
    }
    return Reprieve(std::move(lower), budgets);
  }

 private:
  void Remove(const PodInfoPtr& other) {
    node_.RemovePod(other->uid());
    state_.RemovePod(*other, original_);
  }
  // Returns true if it can stay.
  bool TryKeep(const PodInfoPtr& other) {
    node_.AddPod(other);
    state_.AddPod(*other, original_);
    if (state_.Check(node_).ok()) return true;
    Remove(other);
    return false;
  }

  Candidate Reprieve(std::vector<PodInfoPtr> lower, const Budgets& budgets) {
    SortByImportance(lower);
    BudgetLedger ledger(budgets);
    std::vector<PodInfoPtr> guarded, free;
    for (const PodInfoPtr& other : lower) (ledger.Violates(*other->pod) ? guarded : free).push_back(other);
    Candidate candidate{.node = &original_};
    for (const PodInfoPtr& other : guarded) {
      if (TryKeep(other)) continue;
      candidate.victims.push_back(other);
      ++candidate.violations;
    }
    for (const PodInfoPtr& other : free)
      if (!TryKeep(other)) candidate.victims.push_back(other);
    SortByImportance(candidate.victims);
    return candidate;
  }

  const PodInfo& pod_;
  const NodeInfo& original_;
  NodeInfo node_;
  FilterState state_;
};

// Smaller is better, compared field by field.
using Cost = std::tuple<int, std::int64_t, std::int64_t, std::size_t, api::Time>;

Cost CostOf(const Candidate& candidate) {
  std::int64_t sum = 0;
  for (const PodInfoPtr& victim : candidate.victims) sum += victim->priority + kPriorityOffset;
  const std::int64_t highest = candidate.victims.empty() ? 0 : candidate.victims[0]->priority;
  std::optional<api::Time> earliest;
  for (const PodInfoPtr& victim : candidate.victims)
    if (victim->priority == highest && (!earliest || StartOf(*victim) < *earliest))
      earliest = StartOf(*victim);
  // The latest of the earliest starts wins, because the least work is lost.
  const api::Time start = earliest.value_or(api::Time{});
  return {candidate.violations, highest, sum, candidate.victims.size(), api::Time{-start.seconds, 0}};
}

// A pod that already waits for victims on a node to go does not look for more.
bool WaitsForVictims(const PodInfo& pod, const Snapshot& snapshot) {
  const std::string& nominated = pod.pod->status.nominated_node_name;
  if (nominated.empty()) return false;
  for (const NodeInfo* node : snapshot.nodes) {
    if (node->name() != nominated) continue;
    for (const PodInfoPtr& other : node->pods())
      if (other->pod->metadata.deletion_timestamp && other->priority < pod.priority) return true;
  }
  return false;
}

}  // namespace

PreemptionResult FindVictims(const PodInfo& pod, const Snapshot& snapshot, const Placement& placement,
                             const Budgets& budgets) {
  PreemptionResult result;
  if (snapshot.nodes.empty()) return result;
  if (!placement.conflict.empty()) {
    result.message = "not found";
    return result;
  }
  result.message = kPrefix;
  if (pod.pod->spec.preemption_policy == "Never") {
    result.message += "not eligible due to preemptionPolicy=Never.";
    return result;
  }
  if (WaitsForVictims(pod, snapshot)) {
    result.message += "not eligible due to a terminating pod on the nominated node.";
    return result;
  }
  const FilterState state(pod, snapshot);
  std::map<std::string, int> reasons;
  std::optional<Candidate> best;
  for (const NodeInfo* node : snapshot.nodes) {
    const auto rejected = placement.rejections.find(node->name());
    if (rejected == placement.rejections.end() || rejected->second.unresolvable) {
      ++reasons[kNotHelpful];
      continue;
    }
    std::vector<std::string> why;
    auto candidate = DryRun(pod, *node, state).Run(budgets, why);
    for (const std::string& reason : why) ++reasons[reason];
    if (candidate && (!best || CostOf(*candidate) < CostOf(*best))) best = std::move(candidate);
  }
  if (!best) {
    result.message += FitMessage(snapshot.nodes.size(), reasons);
    return result;
  }
  result.node = best->node->name();
  result.victims = std::move(best->victims);
  result.message += "found a potential placement for pod on node " + result.node + ", preempting " +
                    std::to_string(result.victims.size()) + " victims";
  return result;
}

}  // namespace flyball::scheduler
