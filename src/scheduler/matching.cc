#include "scheduler/matching.h"

#include <algorithm>
#include <charconv>

namespace flyball::scheduler {
namespace {

bool Contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::optional<std::int64_t> ToInteger(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `value` is null when the label is absent.
bool Satisfies(const std::string& op, const std::vector<std::string>& values, const std::string* value) {
  if (op == "In") return value && Contains(values, *value);
  if (op == "NotIn") return !value || !Contains(values, *value);
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if ((op != "Gt" && op != "Lt") || !value || values.size() != 1) return false;
  const auto have = ToInteger(*value);
  const auto bound = ToInteger(values[0]);
  if (!have || !bound) return false;
  return op == "Gt" ? *have > *bound : *have < *bound;
}

const std::string* Find(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

// The names a term allows, if it speaks of names at all.
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

bool Matches(const LabelSelector& selector, const Labels& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const std::string* have = Find(labels, key);
    if (!have || *have != value) return false;
  }
  return std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [&](const auto& r) { return Satisfies(r.operator_, r.values, Find(labels, r.key)); });
}

bool Matches(const api::Optional<LabelSelector>& selector, const Labels& labels) {
  return selector && Matches(*selector, labels);
}

bool Matches(const NodeSelectorTerm& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const NodeSelectorRequirement& r : term.match_expressions)
    if (!Satisfies(r.operator_, r.values, Find(node.metadata.labels, r.key))) return false;
  for (const NodeSelectorRequirement& r : term.match_fields)
    if (r.key != "metadata.name" || !Satisfies(r.operator_, r.values, &node.metadata.name)) return false;
  return true;
}

bool MatchesRequiredNodeAffinity(const PodSpec& spec, const Node& node) {
  for (const auto& [key, value] : spec.node_selector) {
    const std::string* have = Find(node.metadata.labels, key);
    if (!have || *have != value) return false;
  }
  if (!spec.affinity || !spec.affinity->node_affinity) return true;
  const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
  if (!required) return true;
  return std::any_of(required->node_selector_terms.begin(), required->node_selector_terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, node); });
}

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

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return (toleration.operator_.empty() || toleration.operator_ == "Equal") && toleration.value == taint.value;
}

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

bool ToleratesNode(const PodSpec& spec, const Node& node) {
  return std::all_of(node.spec.taints.begin(), node.spec.taints.end(), [&](const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return Tolerates(spec.tolerations, taint);
  });
}

}  // namespace flyball::scheduler
