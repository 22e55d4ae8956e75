// SnapshotSchedule: a server's snapshots of its own store, every so often, the newest few kept.
#pragma once

#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/values/result.h"

namespace flyball::cli {

struct SnapshotScheduleOptions {
  Duration interval{};  // zero: none
  int count = 5;        // how many are kept
  std::string folder;   // empty: <data_dir>/snapshots
  std::string passphrase_file;
};

// The passphrase in the file, without the line's end; empty if no file is named. An empty file is an error.
Result<std::string> ReadPassphrase(const std::string& path);

// Works on a thread of its own: copying the store takes as long as it is large. Thread-safe.
class SnapshotSchedule {
 public:
  // The first one is due an interval after the newest that is there: restarts do not put it off.
  static Result<std::unique_ptr<SnapshotSchedule>> Start(std::string data_dir,
                                                         const SnapshotScheduleOptions& options,
                                                         Metrics& metrics);

 private:
  SnapshotSchedule(std::string data_dir, std::string folder, const SnapshotScheduleOptions& options,
                   std::string passphrase, Metrics& metrics);
  void Ring();
  Status Save();
  void RemoveOld() const;
  Duration UntilDue() const;

  const std::string data_dir_, folder_;
  const Duration interval_;
  const std::size_t count_;
  const std::string passphrase_;
  Metrics& metrics_;
  ThreadPool thread_;
  Alarm alarm_;  // last: closed before the rest goes
};

}  // namespace flyball::cli
