// Bootstrap: what every cluster has from the start: the system namespaces, the bootstrap roles, the system
// priority classes, the `kubernetes` Service.
#pragma once

#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// What happens to objects that are there already: nothing; or, for those that describe this run of the
// server, everything but their metadata becomes as given; or, for roles and bindings, they get what they
// lack.
enum class Existing { kKeep, kBringUpToDate, kComplete };

// Each object with apiVersion, kind and metadata.name (and namespace). Blocks until they are stored, in one
// commit. Defaults are set and metadata filled in as a create would; admission and validation are skipped.
Status EnsureObjects(ServerState& state, const std::vector<json::Value>& objects,
                     Existing existing = Existing::kKeep);

// default, kube-system, kube-public, kube-node-lease; system-cluster-critical and system-node-critical.
// Also since when legacy tokens are tracked: `now`, the first time.
std::vector<json::Value> BootstrapObjects(TimePoint now);

}  // namespace flyball::server
