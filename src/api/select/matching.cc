#include "api/select/matching.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace flyball {
namespace {

bool ContainsText(const std::vector<std::string>& values, const std::string& value) {
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
  if (op == "In") return value && ContainsText(values, *value);
  if (op == "NotIn") return !value || !ContainsText(values, *value);
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if ((op != "Gt" && op != "Lt") || !value || values.size() != 1) return false;
  const auto have = ToInteger(*value);
  const auto bound = ToInteger(values[0]);
  if (!have || !bound) return false;
  return op == "Gt" ? *have > *bound : *have < *bound;
}

const std::string* FindLabel(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

}  // namespace

bool HasLabels(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    const std::string* have = FindLabel(labels, want.first);
    return have && *have == want.second;
  });
}

bool Matches(const LabelSelector& selector, const Labels& labels) {
  return HasLabels(labels, selector.match_labels) &&
         std::all_of(
             selector.match_expressions.begin(), selector.match_expressions.end(),
             [&](const auto& r) { return Satisfies(r.operator_, r.values, FindLabel(labels, r.key)); });
}

bool SelectsEverything(const LabelSelector& selector) {
  return selector.match_labels.empty() && selector.match_expressions.empty();
}

bool Matches(const api::Optional<LabelSelector>& selector, const Labels& labels) {
  return selector && Matches(*selector, labels);
}

bool Matches(const NodeSelectorTerm& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const NodeSelectorRequirement& r : term.match_expressions)
    if (!Satisfies(r.operator_, r.values, FindLabel(node.metadata.labels, r.key))) return false;
  for (const NodeSelectorRequirement& r : term.match_fields)
    if (r.key != "metadata.name" || !Satisfies(r.operator_, r.values, &node.metadata.name)) return false;
  return true;
}

bool MatchesRequiredNodeAffinity(const PodSpec& spec, const Node& node) {
  if (!HasLabels(node.metadata.labels, spec.node_selector)) return false;
  if (!spec.affinity || !spec.affinity->node_affinity) return true;
  const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
  if (!required) return true;
  return std::any_of(required->node_selector_terms.begin(), required->node_selector_terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, node); });
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

bool ToleratesAll(const PodSpec& spec, const Node& node, std::string_view effect) {
  return std::all_of(node.spec.taints.begin(), node.spec.taints.end(), [&](const Taint& taint) {
    return taint.effect != effect || Tolerates(spec.tolerations, taint);
  });
}

}  // namespace flyball
