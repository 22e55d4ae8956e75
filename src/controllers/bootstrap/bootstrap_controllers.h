// What looks after bootstrap tokens (upstream: pkg/controller/bootstrap).
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// bootstrapsigner: signs the kubeconfig in ConfigMap kube-public/cluster-info with each token that may sign,
// so that one who joins and knows a token can tell the cluster's CA from a false one.
Status AddBootstrapSigner(Manager& manager);
// tokencleaner: deletes tokens that have expired.
Status AddTokenCleaner(Manager& manager);

}  // namespace flyball::controllers
