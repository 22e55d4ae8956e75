#include "controllers/objects/label_match.h"

#include <algorithm>

namespace flyball::controllers {
namespace {

bool Satisfies(const LabelSelectorRequirement& requirement, const Labels& labels) {
  const auto found = labels.find(requirement.key);
  const bool present = found != labels.end();
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), found->second) !=
           requirement.values.end();
  };
  if (requirement.operator_ == "In") return present && listed();
  if (requirement.operator_ == "NotIn") return !present || !listed();
  if (requirement.operator_ == "Exists") return present;
  if (requirement.operator_ == "DoesNotExist") return !present;
  return false;
}

}  // namespace

bool HasLabels(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto found = labels.find(want.first);
    return found != labels.end() && found->second == want.second;
  });
}

bool Matches(const LabelSelector& selector, const Labels& labels) {
  return HasLabels(labels, selector.match_labels) &&
         std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [&](const LabelSelectorRequirement& r) { return Satisfies(r, labels); });
}

std::string SelectorInMessage(const LabelSelector& selector) {
  std::string out = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : selector.match_labels) out += key + ": " + value + ",";
  out += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const LabelSelectorRequirement& r : selector.match_expressions) {
    std::string values;
    for (const std::string& value : r.values) values += (values.empty() ? "" : " ") + value;
    out +=
        "LabelSelectorRequirement{Key:" + r.key + ",Operator:" + r.operator_ + ",Values:[" + values + "],},";
  }
  return out + "},}";
}

bool SelectsEverything(const LabelSelector& selector) {
  return selector.match_labels.empty() && selector.match_expressions.empty();
}

}  // namespace flyball::controllers
