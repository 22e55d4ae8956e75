#include "server/cache/object_filter.h"

#include <algorithm>

namespace flyball::server {
namespace {

constexpr std::size_t kOwnFields = 2;  // after metadata.name and metadata.namespace

bool DemandsOneValue(const api::LabelSelector::Requirement& requirement) {
  using Operator = api::LabelSelector::Operator;
  return requirement.values.size() == 1 &&
         (requirement.op == Operator::kEquals || requirement.op == Operator::kDoubleEquals ||
          requirement.op == Operator::kIn);
}

}  // namespace

std::optional<std::string_view> ValueOf(const StoredObject& object, const SelectorTerm& term) {
  if (term.label.empty()) return object.fields()[term.field];
  const auto& labels = object.labels();
  const auto it =
      std::lower_bound(labels.begin(), labels.end(), term.label,
                       [](const auto& label, const std::string& key) { return label.first < key; });
  if (it == labels.end() || it->first != term.label) return std::nullopt;
  return it->second;
}

bool ObjectFilter::Accepts(const StoredObject& object) const {
  if (!namespace_name.empty() && object.namespace_name() != namespace_name) return false;
  if (!name.empty() && object.name() != name) return false;
  return (labels.empty() || labels.Matches(object.labels())) &&
         (fields.empty() || fields.Matches(object.fields()));
}

std::vector<SelectorTerm> ObjectFilter::Terms() const {
  std::vector<SelectorTerm> terms;
  for (const auto& term : fields.terms())
    if (term.equals && term.index >= kOwnFields) terms.push_back({"", term.index, term.value});
  for (const auto& requirement : labels.requirements())
    if (DemandsOneValue(requirement)) terms.push_back({requirement.key, 0, requirement.values[0]});
  return terms;
}

}  // namespace flyball::server
