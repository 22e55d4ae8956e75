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

// The first label from `from` on whose key is not before `key`.
std::size_t LabelPosition(const StoredObject& object, std::string_view key, std::size_t from) {
  std::size_t end = object.label_count();
  while (from < end) {
    const std::size_t middle = from + (end - from) / 2;
    if (object.label(middle).first < key)
      from = middle + 1;
    else
      end = middle;
  }
  return from;
}

bool MatchesLabels(const api::LabelSelector& selector, const StoredObject& object) {
  if (selector.selects_nothing()) return false;
  std::size_t i = 0;
  for (const auto& requirement : selector.requirements()) {  // sorted by key, as the labels are
    i = LabelPosition(object, requirement.key, i);
    const bool present = i < object.label_count() && object.label(i).first == requirement.key;
    const std::string_view value = present ? object.label(i).second : std::string_view();
    if (!requirement.Matches(present ? &value : nullptr)) return false;
  }
  return true;
}

bool MatchesFields(const api::FieldSelector& selector, const StoredObject& object) {
  const auto& terms = selector.terms();
  return std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
    return (object.field(term.index) == term.value) == term.equals;
  });
}

}  // namespace

std::optional<std::string_view> ValueOf(const StoredObject& object, const SelectorTerm& term) {
  if (term.label.empty()) return object.field(term.field);
  const std::size_t i = LabelPosition(object, term.label, 0);
  if (i == object.label_count() || object.label(i).first != term.label) return std::nullopt;
  return object.label(i).second;
}

bool ObjectFilter::Accepts(const StoredObject& object) const {
  if (!namespace_name.empty() && object.namespace_name() != namespace_name) return false;
  if (!name.empty() && object.name() != name) return false;
  return (labels.empty() || MatchesLabels(labels, object)) && MatchesFields(fields, object);
}

bool ObjectFilter::SelectsByContent() const {
  return !labels.empty() || std::any_of(fields.terms().begin(), fields.terms().end(),
                                        [](const auto& term) { return !term.equals || term.index > 1; });
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
