#include "scheduler/snapshot/matching.h"

namespace flyball::scheduler {
namespace {

// The node names that a term allows, if it refers to names at all.
std::optional<std::set<std::string>> NamesOf(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const NodeSelectorRequirement& field : term.match_fields) {
    if (field.key != "metadata.name" || field.operator_ != "In") continue;
    std::set<std::string> listed(field.values.begin(), field.values.end());
    if (names) std::erase_if(listed, [&](const std::string& name) { return !names->contains(name); });
    names = std::move(listed);
  }
  return names;
}

}  // namespace

std::optional<std::set<std::string>> NamedNodes(const PodSpec& spec) {
  if (!spec.affinity || !spec.affinity->node_affinity) return std::nullopt;
  const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
  if (!required || required->node_selector_terms.empty()) return std::nullopt;
  std::set<std::string> all;
  for (const NodeSelectorTerm& term : required->node_selector_terms) {
    auto names = NamesOf(term);
    if (!names) return std::nullopt;
    all.merge(*names);
  }
  return all;
}

bool ToleratesNode(const PodSpec& spec, const Node& node) {
  return ToleratesAll(spec, node, "NoSchedule") && ToleratesAll(spec, node, "NoExecute");
}

}  // namespace flyball::scheduler
