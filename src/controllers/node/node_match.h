// Whether a pod may be on a node: selectors, required affinity, taints.
#pragma once

#include "api/types/core.h"

namespace flyball::controllers {

bool Tolerates(const Toleration& toleration, const Taint& taint);
// No taint of the node with that effect is left untolerated.
bool ToleratesAll(const PodSpec& spec, const Node& node, std::string_view effect);
// nodeSelector and the required node affinity.
bool FitsNode(const PodSpec& spec, const Node& node);

}  // namespace flyball::controllers
