#include "server/audit/audit_options.h"

namespace flyball::server {
namespace {

Status CheckBatch(const std::string& plugin, const AuditBatchOptions& batch) {
  if (batch.mode != "batch" && batch.mode != "blocking" && batch.mode != "blocking-strict")
    return Unexpected(BadRequest("invalid audit " + plugin + " mode " + batch.mode +
                                 ", allowed modes are \"batch,blocking,blocking-strict\""));
  if (batch.mode != "batch") return {};
  const auto refuse = [&](const std::string& what, const std::string& value) {
    return Unexpected(BadRequest("invalid audit batch " + plugin + " " + what + " " + value +
                                 ", must be a positive number"));
  };
  if (batch.buffer_size <= 0) return refuse("buffer size", std::to_string(batch.buffer_size));
  if (batch.max_size <= 0) return refuse("max batch size", std::to_string(batch.max_size));
  if (!batch.throttle_enable) return {};
  if (batch.throttle_qps <= 0) return refuse("throttle QPS", std::to_string(batch.throttle_qps));
  if (batch.throttle_burst <= 0) return refuse("throttle burst", std::to_string(batch.throttle_burst));
  return {};
}

Status CheckTruncate(const std::string& plugin, const AuditTruncateOptions& truncate) {
  if (truncate.max_event_size <= 0)
    return Unexpected(BadRequest("invalid audit truncate " + plugin + " max event size " +
                                 std::to_string(truncate.max_event_size) + ", must be a positive number"));
  if (truncate.max_batch_size < truncate.max_event_size)
    return Unexpected(BadRequest(
        "invalid audit truncate " + plugin + " max batch size " + std::to_string(truncate.max_batch_size) +
        ", must be greater than max event size (" + std::to_string(truncate.max_event_size) + ")"));
  return {};
}

Status NotNegative(const char* flag, int value) {
  if (value >= 0) return {};
  return Unexpected(
      BadRequest(std::string(flag) + " " + std::to_string(value) + " can't be a negative number"));
}

}  // namespace

Status CheckAuditOptions(const AuditOptions& options) {
  if (const AuditLogOptions& log = options.log; !log.path.empty()) {
    FLYBALL_TRY(CheckBatch("log", log.batch));
    FLYBALL_TRY(CheckTruncate("log", log.truncate));
    if (log.format != "json" && log.format != "legacy")
      return Unexpected(
          BadRequest("invalid audit log format " + log.format + ", allowed formats are \"legacy,json\""));
    FLYBALL_TRY(NotNegative("--audit-log-maxage", log.max_age_days));
    FLYBALL_TRY(NotNegative("--audit-log-maxbackup", log.max_backups));
    FLYBALL_TRY(NotNegative("--audit-log-maxsize", log.max_size_megabytes));
  }
  if (options.webhook.config_file.empty()) return {};
  FLYBALL_TRY(CheckBatch("webhook", options.webhook.batch));
  return CheckTruncate("webhook", options.webhook.truncate);
}

}  // namespace flyball::server
