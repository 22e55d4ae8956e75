// ServerState: the long-lived parts of an API server, as request handlers see them. Owned by ApiServer.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/task.h"
#include "server/admission.h"
#include "server/authentication.h"
#include "server/authorization.h"
#include "server/catalog.h"
#include "server/registry.h"
#include "server/watch_cache.h"
#include "store/store.h"

namespace flyball::server {

struct ServerState {
  store::Store& store;
  WatchCache& cache;
  Catalog& catalog;
  Registry& registry;
  const AdmissionChain& admission;
  const AuthenticatorChain& authenticator;
  const Authorizer& authorizer;
  Executor& executor;
  Random& random;
  Metrics& metrics;

  const Clock& clock() const { return executor.clock(); }
};

// Of the server's own writes, on nobody's behalf: it may everything.
inline RequestScope OwnScope(ServerState& state, std::string field_manager = "kube-apiserver") {
  RequestScope scope({}, {"system:apiserver", "", {std::string(kMastersGroup)}, {}}, state.executor,
                     state.clock().Now());
  scope.field_manager = std::move(field_manager);
  return scope;
}
// Starts work of the server's own that nobody waits for; `what` is what the log calls it if it throws.
void SpawnOwn(Task<void> task, const char* what);

}  // namespace flyball::server
