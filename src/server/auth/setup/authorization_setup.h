// Authorization: the chain of authorizers that the options ask for, replaced while the server runs when its
// file changes.
#pragma once

#include <memory>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "server/auth/authorization.h"
#include "server/auth/config/authorization_config.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// What authorization uses. All of it outlives it.
struct AuthorizationParts {
  const Catalog& catalog;
  Executor& executor;
  Random& random;
  Metrics& metrics;
  FileWatcher* files;  // may go on watching after authorization has gone; null: the file is read once
};

// Thread-safe.
class Authorization {
 public:
  // BadRequest in upstream's words if options contradict each other or a file is no good.
  static Result<std::unique_ptr<Authorization>> Make(const AuthorizationOptions& options,
                                                     const AuthorizationParts& parts);
  virtual ~Authorization() = default;

  // The chain as it is at the time of each question.
  virtual const Authorizer& authorizer() const = 0;
  // Ends what waits for other servers. To be called while the executors of requests still run.
  virtual void Stop() = 0;
};

}  // namespace flyball::server
