// The approver of node certificates (upstream: csrapproving): a request for a kubelet's client certificate is
// approved if its sender may create certificatesigningrequests/selfnodeclient (its own, renewed) or
// certificatesigningrequests/nodeclient (any node's, while it joins), which a SubjectAccessReview decides.
// All other requests wait for somebody to decide.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddCertificateApprover(Manager& manager, int workers);

// Not part of kube-controller-manager, and off unless named: approves the serving certificate of a node that
// asks for itself, and only for addresses and names its Node object has. Where nodes are not trusted to say
// where they are, leave it off and approve by hand.
Status AddKubeletServingApprover(Manager& manager, int workers);

}  // namespace flyball::controllers
