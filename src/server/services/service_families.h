// The IP families of a Service: what it says, what follows from its addresses, and what the cluster has.
#pragma once

#include "base/values/result.h"
#include "json/value.h"
#include "server/services/service_claims.h"

namespace flyball::server {

// Completes spec.ipFamilyPolicy, ipFamilies and clusterIPs of a Service that is valid (upstream:
// initIPFamilyFields). `old` is null if it is new. Invalid, in kube-apiserver's words, if the cluster does
// not have what is asked for.
Status SetServiceFamilies(json::Value& service, const json::Value& old, const AddressRanges& ranges);

// A Service that prefers two families and keeps those it has: it gets no second address because the cluster
// has become dual-stack, and loses none (upstream: isMatchingPreferDualStackClusterIPFields).
bool KeepsPreferredFamilies(const json::Value& service, const json::Value& old);

}  // namespace flyball::server
