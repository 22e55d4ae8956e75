// PodNodeSelector: pods of a namespace run only on the nodes that its annotation
// scheduler.alpha.kubernetes.io/node-selector, or the plugin's configuration, selects.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration` is YAML or JSON with `podNodeSelectorPluginConfig`: clusterDefaultNodeSelector, and by
// namespace the labels that its pods may select by. As upstream, other members do not matter.
Result<std::unique_ptr<AdmissionPlugin>> NewPodNodeSelector(const Catalog& catalog,
                                                            const std::optional<std::string>& configuration);

}  // namespace flyball::server
