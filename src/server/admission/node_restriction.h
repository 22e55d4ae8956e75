// NodeRestriction: what a kubelet (user system:node:<name>) may write is about itself: its Node, its lease,
// its CSINode, and the pods that run on it.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewNodeRestriction();

}  // namespace flyball::server
