#include "scheduler/filter/topology_spread.h"

#include <algorithm>
#include <limits>

namespace flyball::scheduler {
namespace {

constexpr char kSkew[] = "node(s) didn't match pod topology spread constraints";
constexpr char kMissingLabel[] =
    "node(s) didn't match pod topology spread constraints (missing required label)";

SpreadConstraint Complete(const TopologySpreadConstraint& from, const Labels& labels) {
  SpreadConstraint constraint{.max_skew = from.max_skew,
                              .topology_key = from.topology_key,
                              .selector = from.label_selector,
                              .min_domains = from.min_domains.value_or(1),
                              .honor_affinity = from.node_affinity_policy.value_or("Honor") == "Honor",
                              .honor_taints = from.node_taints_policy.value_or("Ignore") == "Honor"};
  if (!constraint.selector) return constraint;
  for (const std::string& key : from.match_label_keys)
    if (const auto found = labels.find(key); found != labels.end())
      constraint.selector->match_expressions.push_back(
          {.key = key, .operator_ = "In", .values = {found->second}});
  return constraint;
}

}  // namespace

bool SpreadConstraint::Matches(const Pod& pod, const std::string& ns) const {
  return !pod.metadata.deletion_timestamp && pod.metadata.namespace_ == ns &&
         flyball::Matches(selector, pod.metadata.labels);
}

bool SpreadConstraint::Includes(const Pod& pod, const Node& node) const {
  if (honor_affinity && !MatchesRequiredNodeAffinity(pod.spec, node)) return false;
  return !honor_taints || ToleratesNode(pod.spec, node);
}

std::vector<SpreadConstraint> ConstraintsOf(const Pod& pod, const std::string& when_unsatisfiable) {
  std::vector<SpreadConstraint> constraints;
  for (const TopologySpreadConstraint& from : pod.spec.topology_spread_constraints)
    if (from.when_unsatisfiable == when_unsatisfiable)
      constraints.push_back(Complete(from, pod.metadata.labels));
  return constraints;
}

TopologySpreadFilter::TopologySpreadFilter(const PodInfo& pod, const Snapshot& snapshot) : pod_(pod) {
  for (SpreadConstraint& constraint : ConstraintsOf(*pod.pod, "DoNotSchedule")) {
    const bool self = flyball::Matches(constraint.selector, pod.pod->metadata.labels);
    constraints_.push_back({std::move(constraint), {}, self});
  }
  if (constraints_.empty()) return;
  for (const NodeInfo* node : snapshot.nodes) {
    if (!HasAllKeys(*node)) continue;
    for (Counted& counted : constraints_)
      if (counted.constraint.Includes(*pod.pod, *node->node()))
        counted.domains.try_emplace(*node->Label(counted.constraint.topology_key), 0);
    for (const auto& [likeness, alike] : node->alike()) Count(*alike.one, *node, alike.count);
  }
}

bool TopologySpreadFilter::HasAllKeys(const NodeInfo& node) const {
  return std::all_of(constraints_.begin(), constraints_.end(),
                     [&](const Counted& c) { return node.Label(c.constraint.topology_key) != nullptr; });
}

void TopologySpreadFilter::Count(const PodInfo& other, const NodeInfo& node, std::int64_t delta) {
  if (constraints_.empty() || !HasAllKeys(node)) return;
  for (Counted& counted : constraints_) {
    const SpreadConstraint& constraint = counted.constraint;
    if (!constraint.Matches(*other.pod, pod_.ns()) || !constraint.Includes(*pod_.pod, *node.node())) continue;
    counted.domains[*node.Label(constraint.topology_key)] += delta;
  }
}

std::int64_t TopologySpreadFilter::Fewest(const Counted& counted) {
  if (counted.domains.size() < static_cast<std::size_t>(counted.constraint.min_domains)) return 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [value, count] : counted.domains) fewest = std::min(fewest, count);
  return counted.domains.empty() ? 0 : fewest;
}

TopologySpreadFilter::Verdict TopologySpreadFilter::Check(const NodeInfo& node) const {
  for (const Counted& counted : constraints_) {
    const std::string* value = node.Label(counted.constraint.topology_key);
    if (!value) return {kMissingLabel, true};
    const auto found = counted.domains.find(*value);
    const std::int64_t here = found == counted.domains.end() ? 0 : found->second;
    const std::int64_t skew = here + (counted.matches_self ? 1 : 0) - Fewest(counted);
    if (skew > counted.constraint.max_skew) return {kSkew, false};
  }
  return {};
}

}  // namespace flyball::scheduler
