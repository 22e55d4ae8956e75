// AuditWebhook: posts audit events as EventLists to a server that a kubeconfig file describes.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/random.h"
#include "client/rest_client.h"
#include "server/audit/audit_batch.h"

namespace flyball::server {

// Thread-safe.
class AuditWebhook {
 public:
  // Attempts per batch, and the time between them: upstream's back-off.
  static constexpr int kAttempts = 5;
  static constexpr double kBackoffFactor = 1.5;
  static constexpr double kJitter = 0.2;

  // BadRequest if the file is no kubeconfig. The executor and the metrics outlive this.
  static Result<std::unique_ptr<AuditWebhook>> Make(const AuditWebhookOptions& options, Executor& executor,
                                                    Random& random, Metrics& metrics);
  ~AuditWebhook() { Abort(); }

  // Sends until the other side has taken the events, or the attempts are used up.
  void Send(const AuditBatchEntries& batch, UniqueFunction<void(bool)> done);
  // Ends what is under way; each `done` is called with false.
  void Abort();

 private:
  struct Core;
  class Delivery;
  explicit AuditWebhook(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  const std::shared_ptr<Core> core_;
};

}  // namespace flyball::server
