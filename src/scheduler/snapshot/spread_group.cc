#include "scheduler/snapshot/spread_group.h"

#include "scheduler/snapshot/matching.h"

namespace flyball::scheduler {

api::Optional<LabelSelector> SpreadGroup(const Pod& pod,
                                         const std::vector<std::shared_ptr<const Service>>& services,
                                         const LabelSelector* owner) {
  LabelSelector group;
  for (const auto& service : services) {
    if (service->metadata.namespace_ != pod.metadata.namespace_ || service->spec.selector.empty()) continue;
    const LabelSelector selector{.match_labels = service->spec.selector};
    if (Matches(selector, pod.metadata.labels))
      group.match_labels.insert(service->spec.selector.begin(), service->spec.selector.end());
  }
  if (owner) {
    group.match_labels.insert(owner->match_labels.begin(), owner->match_labels.end());
    group.match_expressions = owner->match_expressions;
  }
  if (group.match_labels.empty() && group.match_expressions.empty()) return {};
  return group;
}

}  // namespace flyball::scheduler
