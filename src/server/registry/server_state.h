// ServerState: the long-lived parts of an API server, as request handlers see them. Owned by ApiServer.
#pragma once

#include <string>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/task.h"
#include "server/auth/authentication.h"
#include "server/auth/authorization.h"
#include "server/cache/watch_cache.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"
#include "server/registry/registry.h"
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
  Executor* workers = nullptr;  // for work that holds a thread; null: it is done where the request runs

  // Goes on with the request on a worker, from where it does not come back. Without workers it goes on at
  // once: callers in the same process that may not block rely on that.
  Task<void> ContinueOnWorker(RequestScope& scope) const;
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
