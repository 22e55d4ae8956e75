#include "api/kinds/shared/node_labels.h"

#include <algorithm>
#include <array>

#include "api/rules/access.h"

namespace flyball::api {
namespace {

struct OldLabel {
  std::string_view name, text;
};
constexpr std::array kOldNodeLabels = {
    OldLabel{"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    OldLabel{"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    OldLabel{"failure-domain.beta.kubernetes.io/region",
             "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    OldLabel{"failure-domain.beta.kubernetes.io/zone",
             "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    OldLabel{"beta.kubernetes.io/instance-type",
             "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
    OldLabel{"app.kubernetes.io/created-by", "deprecated since v1.9"},
    OldLabel{"scheduler.alpha.kubernetes.io/preferAvoidPods",
             "deprecated since v1.22; use Taints and Tolerations instead"},
    OldLabel{"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
};

}  // namespace

std::string_view OldNodeLabelText(std::string_view label) {
  const auto found = std::find_if(kOldNodeLabels.begin(), kOldNodeLabels.end(),
                                  [label](const OldLabel& old) { return old.name == label; });
  return found == kOldNodeLabels.end() ? std::string_view() : found->text;
}

void WarnOfNodeSelectorTerm(const json::Value& term, const FieldPath& path, std::vector<std::string>& out) {
  const json::Array& expressions = Items(term["matchExpressions"]);
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string_view key = Text(expressions[i], "key");
    const std::string_view text = OldNodeLabelText(key);
    if (text.empty()) continue;
    out.push_back(path.Child("matchExpressions").Index(i).Child("key").text() + ": " + std::string(key) +
                  " is " + std::string(text));
  }
}

}  // namespace flyball::api
