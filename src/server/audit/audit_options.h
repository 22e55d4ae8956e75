// The options of auditing, with kube-apiserver's names and defaults.
#pragma once

#include <cstdint>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::server {

struct AuditBatchOptions {
  std::string mode = "batch";  // batch, blocking, blocking-strict
  int buffer_size = 10000;     // events that may wait; more are dropped
  int max_size = 400;          // events sent at once
  Duration max_wait = std::chrono::seconds(30);
  bool throttle_enable = true;
  double throttle_qps = 10;
  int throttle_burst = 15;
};

struct AuditTruncateOptions {
  bool enabled = false;
  std::int64_t max_batch_size = 10 << 20;
  std::int64_t max_event_size = 100 << 10;
};

struct AuditLogOptions {
  std::string path;  // empty: none; "-": standard output
  int max_age_days = 366;
  int max_backups = 100;
  int max_size_megabytes = 100;
  std::string format = "json";  // or legacy
  AuditBatchOptions batch{.mode = "blocking", .max_size = 1, .throttle_enable = false};
  AuditTruncateOptions truncate;
};

struct AuditWebhookOptions {
  std::string config_file;  // a kubeconfig; empty: none
  Duration initial_backoff = std::chrono::seconds(10);
  AuditBatchOptions batch;
  AuditTruncateOptions truncate;
};

struct AuditOptions {
  std::string policy_file;
  AuditLogOptions log;
  AuditWebhookOptions webhook;

  bool enabled() const { return !log.path.empty() || !webhook.config_file.empty(); }
};

// What kube-apiserver would refuse, in its words.
Status CheckAuditOptions(const AuditOptions& options);

}  // namespace flyball::server
