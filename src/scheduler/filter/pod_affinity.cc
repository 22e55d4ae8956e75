#include "scheduler/filter/pod_affinity.h"

#include <algorithm>

namespace flyball::scheduler {
namespace {

constexpr char kAffinity[] = "node(s) didn't match pod affinity rules";
constexpr char kAntiAffinity[] = "node(s) didn't match pod anti-affinity rules";
constexpr char kExistingAntiAffinity[] = "node(s) didn't satisfy existing pods anti-affinity rules";
// Weight of a required affinity term of a placed pod in scores.
constexpr std::int64_t kHardAffinityWeight = 1;

void CountTerm(const AffinityTerm& term, const NodeInfo& node, std::int64_t delta, TopologyCounts& counts) {
  if (const std::string* value = node.Label(term.topology_key)) counts.Add(term.topology_key, *value, delta);
}

class ScoreCounter {
 public:
  ScoreCounter(const PodInfo& pod, const NamespaceLabels& namespaces) : pod_(pod), namespaces_(namespaces) {}

  void Count(const PodInfo& other, const NodeInfo& node) {
    Own(pod_.preferred_affinity, other, node, 1);
    Own(pod_.preferred_anti_affinity, other, node, -1);
    for (const AffinityTerm& term : other.required_affinity) Theirs(term, node, kHardAffinityWeight);
    for (const AffinityTerm& term : other.preferred_affinity) Theirs(term, node, term.weight);
    for (const AffinityTerm& term : other.preferred_anti_affinity) Theirs(term, node, -term.weight);
  }
  std::int64_t ScoreOf(const NodeInfo& node) const {
    std::int64_t score = 0;
    for (const std::string& key : keys_)
      if (const std::string* value = node.Label(key)) score += counts_.Get(key, *value);
    return score;
  }
  bool empty() const { return keys_.empty(); }

 private:
  void Own(const std::vector<AffinityTerm>& terms, const PodInfo& other, const NodeInfo& node, int sign) {
    for (const AffinityTerm& term : terms)
      if (term.Matches(*other.pod, namespaces_)) Add(term, node, sign * term.weight);
  }
  void Theirs(const AffinityTerm& term, const NodeInfo& node, std::int64_t weight) {
    if (term.Matches(*pod_.pod, namespaces_)) Add(term, node, weight);
  }
  void Add(const AffinityTerm& term, const NodeInfo& node, std::int64_t weight) {
    if (!node.Label(term.topology_key)) return;
    CountTerm(term, node, weight, counts_);
    if (std::find(keys_.begin(), keys_.end(), term.topology_key) == keys_.end())
      keys_.push_back(term.topology_key);
  }

  const PodInfo& pod_;
  const NamespaceLabels& namespaces_;
  TopologyCounts counts_;
  std::vector<std::string> keys_;
};

}  // namespace

PodAffinityFilter::PodAffinityFilter(const PodInfo& pod, const Snapshot& snapshot)
    : pod_(pod), namespaces_(*snapshot.namespaces) {
  const bool own_terms = !pod.required_affinity.empty() || !pod.required_anti_affinity.empty();
  for (const NodeInfo* node : snapshot.nodes) {
    // Without terms of its own, only pods that have terms about others matter.
    for (const PodInfoPtr& other : own_terms ? node->pods() : node->affinity_pods()) AddPod(*other, *node);
  }
}

bool PodAffinityFilter::MatchesAll(const Pod& other) const {
  return !pod_.required_affinity.empty() &&
         std::all_of(pod_.required_affinity.begin(), pod_.required_affinity.end(),
                     [&](const AffinityTerm& term) { return term.Matches(other, namespaces_); });
}

void PodAffinityFilter::CountExistingAnti(const PodInfo& other, const NodeInfo& node, std::int64_t delta) {
  for (const AffinityTerm& term : other.required_anti_affinity)
    if (term.Matches(*pod_.pod, namespaces_)) CountTerm(term, node, delta, existing_anti_);
}

void PodAffinityFilter::Count(const PodInfo& other, const NodeInfo& node, std::int64_t delta) {
  CountExistingAnti(other, node, delta);
  if (MatchesAll(*other.pod))
    for (const AffinityTerm& term : pod_.required_affinity) CountTerm(term, node, delta, affinity_);
  for (const AffinityTerm& term : pod_.required_anti_affinity)
    if (term.Matches(*other.pod, namespaces_)) CountTerm(term, node, delta, anti_affinity_);
}

bool PodAffinityFilter::AffinityHolds(const NodeInfo& node) const {
  bool near_all = true;
  for (const AffinityTerm& term : pod_.required_affinity) {
    const std::string* value = node.Label(term.topology_key);
    if (!value) return false;
    if (affinity_.Get(term.topology_key, *value) <= 0) near_all = false;
  }
  // The first pod of a group that wants to be together may go anywhere.
  return near_all || (affinity_.empty() && MatchesAll(*pod_.pod));
}

PodAffinityFilter::Verdict PodAffinityFilter::Check(const NodeInfo& node) const {
  if (!AffinityHolds(node)) return {kAffinity, true};
  for (const AffinityTerm& term : pod_.required_anti_affinity) {
    const std::string* value = node.Label(term.topology_key);
    if (value && anti_affinity_.Get(term.topology_key, *value) > 0) return {kAntiAffinity, false};
  }
  if (existing_anti_.empty()) return {};
  for (const auto& [key, value] : node.node()->metadata.labels)
    if (existing_anti_.Get(key, value) > 0) return {kExistingAntiAffinity, false};
  return {};
}

std::optional<std::vector<std::int64_t>> PodAffinityScores(const PodInfo& pod, const Snapshot& snapshot,
                                                           const std::vector<const NodeInfo*>& feasible) {
  const bool own_terms = !pod.preferred_affinity.empty() || !pod.preferred_anti_affinity.empty();
  ScoreCounter counter(pod, *snapshot.namespaces);
  for (const NodeInfo* node : snapshot.nodes)
    for (const PodInfoPtr& other : own_terms ? node->pods() : node->affinity_pods())
      counter.Count(*other, *node);
  if (counter.empty()) return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeInfo* node : feasible) scores.push_back(counter.ScoreOf(*node));
  return scores;
}

}  // namespace flyball::scheduler
