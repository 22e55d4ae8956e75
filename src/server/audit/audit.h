// Audit: who did what to which object and how it ended, as audit.k8s.io/v1 Events, by a policy, to a log file
// and a webhook.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "server/audit/audit_backend.h"
#include "server/audit/audit_options.h"
#include "server/audit/audit_policy.h"

namespace flyball::server {

// Thread-safe. Destroying it hands on what waits, within bounds.
class Audit {
 public:
  // An event larger than this is recorded without its objects, whatever the options say.
  static constexpr std::size_t kMaxEvent = 10 << 20;

  // Records nothing.
  static std::unique_ptr<Audit> Off();
  static Result<std::unique_ptr<Audit>> Make(const AuditOptions& options, const Clock& clock, Random& random,
                                             Metrics& metrics);
  ~Audit();

  bool enabled() const { return !outlets_.empty(); }
  // Also counts requests by level.
  AuditDecision Decide(const AuthorizationAttributes& attributes) const;
  // Hands the event to every backend; ends when the request may go on. False: a backend that insists
  // (blocking-strict) could not record it.
  Task<bool> Submit(json::Value event, Executor& resume) const;
  // The same when nothing waits for it.
  void SubmitUnawaited(json::Value event) const;

 private:
  // A backend, and how large its events may be.
  struct Outlet {
    std::unique_ptr<AuditBackend> backend;
    std::size_t max_event;
    Counter* dropped;
  };
  explicit Audit(AuditPolicy policy) : policy_(std::move(policy)) {}
  Status AddLog(const AuditLogOptions& options, const Clock& clock, Metrics& metrics);
  Status AddWebhook(const AuditWebhookOptions& options, Random& random, Metrics& metrics);
  AuditEntryPtr MakeEntry(json::Value event) const;
  // The entry as it fits the outlet; null, and counted, if it does not even without its objects.
  static AuditEntryPtr Fit(const AuditEntryPtr& entry, const Outlet& outlet);
  Outlet MakeOutlet(std::unique_ptr<AuditBackend> backend, const AuditTruncateOptions& truncate,
                    Metrics& metrics) const;

  const AuditPolicy policy_;
  Counter* events_ = nullptr;
  std::vector<Counter*> levels_;
  std::unique_ptr<ThreadPool> thread_;  // of backends that do not work in the request
  std::vector<Outlet> outlets_;         // last: they end before their thread
};

}  // namespace flyball::server
