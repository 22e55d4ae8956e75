// AuditLog: audit events as lines of a file that is rotated, or on standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "server/audit/audit_options.h"

namespace flyball::server {

// A file for its owner alone (0600) that is moved aside when it would grow beyond its size
// (upstream: lumberjack): NAME-2006-01-02T15-04-05.000.EXT. Of those, the newest and the young enough are
// kept. Thread-safe.
class AuditLog {
 public:
  // Makes the file, and its folder (0700). `clock` must outlive this.
  static Result<std::unique_ptr<AuditLog>> Open(const AuditLogOptions& options, const Clock& clock);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Appends the line and a newline, in one piece.
  Status Append(std::string_view line);

 private:
  AuditLog(const AuditLogOptions& options, const Clock& clock) : options_(options), clock_(clock) {}
  Status OpenFile() FLYBALL_REQUIRES(mu_);
  Status Rotate() FLYBALL_REQUIRES(mu_);
  void RemoveOld() const FLYBALL_REQUIRES(mu_);
  bool rotates() const { return options_.path != "-" && options_.max_size_megabytes > 0; }

  const AuditLogOptions options_;
  const Clock& clock_;
  Mutex mu_;
  int fd_ FLYBALL_GUARDED_BY(mu_) = -1;
  std::int64_t size_ FLYBALL_GUARDED_BY(mu_) = 0;
};

}  // namespace flyball::server
