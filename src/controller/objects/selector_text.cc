#include "controller/objects/selector_text.h"

namespace flyball::controllers {

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

}  // namespace flyball::controllers
