// NodeRestriction: what a kubelet (user system:node:<name>) may write is about itself: its Node, its lease,
// its CSINode, the status of the pods that run on it, tokens bound to those pods, and certificates of its own
// name.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewNodeRestriction(const Catalog& catalog, const Authorizer& authorizer);

}  // namespace flyball::server
