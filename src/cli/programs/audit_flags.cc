#include "cli/programs/audit_flags.h"

#include <CLI/CLI.hpp>

#include "api/values/duration.h"

namespace flyball::cli {
namespace {

// Durations as they were given.
struct AuditDurations {
  std::string log_max_wait = "30s", webhook_max_wait = "30s", webhook_initial_backoff = "10s";
};

void AddBatchFlags(CLI::App& command, const std::string& plugin, server::AuditBatchOptions& batch,
                   server::AuditTruncateOptions& truncate, std::string& max_wait) {
  const std::string flag = "--audit-" + plugin + "-";
  command.add_option(flag + "mode", batch.mode, "batch, blocking or blocking-strict")->capture_default_str();
  command.add_option(flag + "batch-buffer-size", batch.buffer_size, "Events that may wait; more are dropped")
      ->capture_default_str();
  command.add_option(flag + "batch-max-size", batch.max_size, "Events sent at once")->capture_default_str();
  command.add_option(flag + "batch-max-wait", max_wait, "How long an event waits for others")
      ->capture_default_str();
  command.add_option(flag + "batch-throttle-enable", batch.throttle_enable, "Limit the rate of batches")
      ->capture_default_str();
  command.add_option(flag + "batch-throttle-qps", batch.throttle_qps, "Batches per second")
      ->capture_default_str();
  command.add_option(flag + "batch-throttle-burst", batch.throttle_burst, "Batches at once after a pause")
      ->capture_default_str();
  command.add_option(flag + "truncate-enabled", truncate.enabled, "Leave the objects of large events out")
      ->capture_default_str();
  command
      .add_option(flag + "truncate-max-event-size", truncate.max_event_size, "Bytes from which one is large")
      ->capture_default_str();
  command.add_option(flag + "truncate-max-batch-size", truncate.max_batch_size, "Bytes of a batch")
      ->capture_default_str();
}

Status ReadDuration(const char* flag, const std::string& text, Duration& out) {
  const auto duration = api::ParseDuration(text);
  if (!duration) return Unexpected(BadRequest(std::string(flag) + ": " + duration.error().message()));
  out = *duration;
  return {};
}

}  // namespace

std::function<Status()> AddAuditFlags(CLI::App& command, server::AuditOptions& options) {
  const auto durations = std::make_shared<AuditDurations>();
  command.add_option("--audit-policy-file", options.policy_file,
                     "Which requests are recorded at which level; without it, metadata of all");
  auto& log = options.log;
  command.add_option("--audit-log-path", log.path,
                     "Append one JSON line per event to this file; - is standard output");
  command.add_option("--audit-log-format", log.format, "json or legacy")->capture_default_str();
  command
      .add_option("--audit-log-maxsize", log.max_size_megabytes,
                  "Megabytes at which the file is rotated; 0: never")
      ->capture_default_str();
  command.add_option("--audit-log-maxbackup", log.max_backups, "Rotated files to keep; 0: all")
      ->capture_default_str();
  command.add_option("--audit-log-maxage", log.max_age_days, "Days to keep rotated files; 0: for ever")
      ->capture_default_str();
  AddBatchFlags(command, "log", log.batch, log.truncate, durations->log_max_wait);
  auto& webhook = options.webhook;
  command.add_option("--audit-webhook-config-file", webhook.config_file,
                     "Kubeconfig of the server that events are posted to");
  command
      .add_option("--audit-webhook-initial-backoff", durations->webhook_initial_backoff,
                  "How long to wait before a failed post is tried again")
      ->capture_default_str();
  AddBatchFlags(command, "webhook", webhook.batch, webhook.truncate, durations->webhook_max_wait);
  return [durations, &options]() -> Status {
    FLYBALL_TRY(
        ReadDuration("--audit-log-batch-max-wait", durations->log_max_wait, options.log.batch.max_wait));
    FLYBALL_TRY(ReadDuration("--audit-webhook-batch-max-wait", durations->webhook_max_wait,
                             options.webhook.batch.max_wait));
    return ReadDuration("--audit-webhook-initial-backoff", durations->webhook_initial_backoff,
                        options.webhook.initial_backoff);
  };
}

}  // namespace flyball::cli
