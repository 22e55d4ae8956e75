// Authentication: the authenticators that the options ask for, and what keeps them up to date while the
// server runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "server/auth/authentication.h"
#include "server/auth/authentication_options.h"
#include "server/auth/service_account_tokens.h"

namespace flyball::server {

// What authentication uses. All of it outlives it.
struct AuthenticationParts {
  const Catalog& catalog;
  ServiceAccountTokens& service_accounts;
  std::vector<std::string> service_account_issuers;
  Executor& executor;
  Random& random;
  Metrics& metrics;
  FileWatcher* files;  // null: files are read once
};

// Thread-safe.
class Authentication {
 public:
  // BadRequest in upstream's words if options contradict each other or a file is no good.
  static Result<std::unique_ptr<Authentication>> Make(const AuthenticationOptions& options,
                                                      const AuthenticationParts& parts);
  virtual ~Authentication() = default;

  virtual const AuthenticatorChain& chain() const = 0;
  // Ends what waits for other servers. To be called while the executors of requests still run.
  virtual void Stop() = 0;
};

}  // namespace flyball::server
