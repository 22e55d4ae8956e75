// Plugins about pods on a node: what they take over from it, and what it must be able to do.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

// PodTopologyLabels: a pod gets the labels topology.kubernetes.io/zone and /region of its node, when it is
// bound or made on it.
std::unique_ptr<AdmissionPlugin> NewPodTopologyLabels(const Catalog& catalog);
// PodResizeValidator: a resize asks for no more than the node has to give, and only Linux nodes do it.
std::unique_ptr<AdmissionPlugin> NewPodResizeValidator(const Catalog& catalog);
// NodeDeclaredFeatureValidator: changes of a pod that only some nodes understand are refused unless its node
// declares them in status.declaredFeatures. Devices that take from what the node allots
// (nodeAllocatableResources) are allowed only on nodes that declare it.
std::unique_ptr<AdmissionPlugin> NewNodeDeclaredFeatureValidator(const Catalog& catalog);

}  // namespace flyball::server
