// Which nodes and pods a selector, an affinity or a toleration means. Pure functions; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/meta.h"

namespace flyball::scheduler {

using Labels = std::map<std::string, std::string>;

// metav1.LabelSelector; an empty one matches everything.
bool Matches(const LabelSelector& selector, const Labels& labels);
// One that is absent matches nothing.
bool Matches(const api::Optional<LabelSelector>& selector, const Labels& labels);

// All requirements of a term; a term without any matches nothing.
bool Matches(const NodeSelectorTerm& term, const Node& node);
// nodeSelector and the required node affinity.
bool MatchesRequiredNodeAffinity(const PodSpec& spec, const Node& node);
// The nodes the pod names by `metadata.name` fields, if all its terms do; empty: they contradict each other.
std::optional<std::set<std::string>> NamedNodes(const PodSpec& spec);

bool Tolerates(const Toleration& toleration, const Taint& taint);
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// No NoSchedule or NoExecute taint is left untolerated.
bool ToleratesNode(const PodSpec& spec, const Node& node);

}  // namespace flyball::scheduler
