// Which objects and nodes a selector, an affinity or a toleration means, on the typed structs. Pure
// functions; thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/core.h"
#include "api/types/meta.h"

namespace flyball {

using Labels = std::map<std::string, std::string>;

// Every member of `wanted` is in `labels`. The empty map matches everything.
bool HasLabels(const Labels& labels, const Labels& wanted);
// metav1.LabelSelector; an empty one matches everything, an unknown operator nothing.
bool Matches(const LabelSelector& selector, const Labels& labels);
bool SelectsEverything(const LabelSelector& selector);
// One that is absent matches nothing.
bool Matches(const api::Optional<LabelSelector>& selector, const Labels& labels);

// All requirements of a term; a term without any matches nothing.
bool Matches(const NodeSelectorTerm& term, const Node& node);
// nodeSelector and the required node affinity.
bool MatchesRequiredNodeAffinity(const PodSpec& spec, const Node& node);

bool Tolerates(const Toleration& toleration, const Taint& taint);
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// No taint of the node with that effect is left untolerated.
bool ToleratesAll(const PodSpec& spec, const Node& node, std::string_view effect);

}  // namespace flyball
