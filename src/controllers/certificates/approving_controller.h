// The approver of node certificates (upstream: csrapproving). It approves a request for a kubelet's client
// certificate if the sender may create certificatesigningrequests/selfnodeclient (to renew its own) or
// certificatesigningrequests/nodeclient (for any node, while joining). A SubjectAccessReview decides that.
// All other requests wait for someone else's decision.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddCertificateApprover(Manager& manager, int workers);

// Not part of kube-controller-manager, and off unless enabled by name. Approves the serving certificate of a
// node that requests it for itself, and only for addresses and names in its Node object. If you do not trust
// nodes to report their own addresses, leave it off and approve by hand.
Status AddKubeletServingApprover(Manager& manager, int workers);

}  // namespace flyball::controllers
