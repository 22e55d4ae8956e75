#include "controllers/node/node_match.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "controllers/objects/label_match.h"

namespace flyball::controllers {
namespace {

std::optional<std::int64_t> Integer(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `value` is null when the node has no such label.
bool Fits(const NodeSelectorRequirement& r, const std::string* value) {
  const bool listed = value && std::find(r.values.begin(), r.values.end(), *value) != r.values.end();
  if (r.operator_ == "In") return listed;
  if (r.operator_ == "NotIn") return !listed;
  if (r.operator_ == "Exists") return value != nullptr;
  if (r.operator_ == "DoesNotExist") return value == nullptr;
  if (!value || r.values.size() != 1) return false;
  const auto have = Integer(*value), bound = Integer(r.values[0]);
  if (!have || !bound) return false;
  return r.operator_ == "Gt" ? *have > *bound : r.operator_ == "Lt" && *have < *bound;
}

// A term without requirements means no node.
bool FitsTerm(const NodeSelectorTerm& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const auto by_label = [&](const NodeSelectorRequirement& r) {
    const auto found = node.metadata.labels.find(r.key);
    return Fits(r, found == node.metadata.labels.end() ? nullptr : &found->second);
  };
  const auto by_field = [&](const NodeSelectorRequirement& r) {
    return r.key == "metadata.name" && Fits(r, &node.metadata.name);
  };
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(), by_label) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(), by_field);
}

}  // namespace

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return !toleration.key.empty() && toleration.value == taint.value;
}

bool ToleratesAll(const PodSpec& spec, const Node& node, std::string_view effect) {
  return std::all_of(node.spec.taints.begin(), node.spec.taints.end(), [&](const Taint& taint) {
    return taint.effect != effect || std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                                                 [&](const Toleration& t) { return Tolerates(t, taint); });
  });
}

bool FitsNode(const PodSpec& spec, const Node& node) {
  if (!HasLabels(node.metadata.labels, spec.node_selector)) return false;
  if (!spec.affinity || !spec.affinity->node_affinity) return true;
  const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
  if (!required) return true;
  return std::any_of(required->node_selector_terms.begin(), required->node_selector_terms.end(),
                     [&](const NodeSelectorTerm& term) { return FitsTerm(term, node); });
}

}  // namespace flyball::controllers
