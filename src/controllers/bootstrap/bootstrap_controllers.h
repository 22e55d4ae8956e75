// The controllers for bootstrap tokens (upstream: pkg/controller/bootstrap).
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// bootstrapsigner: signs the kubeconfig in ConfigMap kube-public/cluster-info with each token that may sign,
// so that a joining node that knows a token can tell the cluster's CA from a forged one.
Status AddBootstrapSigner(Manager& manager);
// tokencleaner: deletes tokens that have expired.
Status AddTokenCleaner(Manager& manager);

}  // namespace flyball::controllers
