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

std::string FormatSelector(const LabelSelector& selector) {
  std::multimap<std::string, std::string> parts;
  for (const auto& [key, value] : selector.match_labels) parts.emplace(key, key + "=" + value);
  for (const LabelSelectorRequirement& r : selector.match_expressions) {
    std::string values;
    for (const std::string& value : r.values) values += (values.empty() ? "" : ",") + value;
    if (r.operator_ == "Exists") parts.emplace(r.key, r.key);
    if (r.operator_ == "DoesNotExist") parts.emplace(r.key, "!" + r.key);
    if (r.operator_ == "In") parts.emplace(r.key, r.key + " in (" + values + ")");
    if (r.operator_ == "NotIn") parts.emplace(r.key, r.key + " notin (" + values + ")");
  }
  std::string out;
  for (const auto& [key, part] : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

bool SelectsEverything(const LabelSelector& selector) {
  return selector.match_labels.empty() && selector.match_expressions.empty();
}

}  // namespace flyball::controllers
