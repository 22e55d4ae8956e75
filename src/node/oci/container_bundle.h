// ContainerBundle: the folder of one start of a container: what runc needs, and what is known about it.
//
//   config.json  rootfs/ upper/ work/    for runc; the root is an overlayfs of the image's layers
//   record.json                          who it is, for the next agent
//   pid, exit                            written by runc and the monitor
//   reaped                               its end has been dealt with
//   termination-log                      what it says about its end
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "node/images/image_store.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

struct ContainerRecord {
  std::string id, name, image, cgroup_path, log_path, stop_signal;
  int attempt = 0;
  bool tty = false, stdin = false, stdin_once = false;
  // terminationMessagePolicy FallbackToLogsOnError: the end of the log is the message of one that fails
  // silently.
  bool message_from_log = false;
  TimePoint started_at{};
};

struct RecordedExit {
  int wait_status = 0;
  std::int64_t nanos = 0;
};

// A value: the path. Thread-compatible; one user at a time.
class ContainerBundle {
 public:
  explicit ContainerBundle(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  std::string rootfs() const { return folder_ + "/rootfs"; }
  std::string termination_log() const { return folder_ + "/termination-log"; }

  // Makes the folder and mounts the root. What there was under that name is removed.
  Status Make(const StoredImage& image) const;
  Status WriteConfig(const json::Value& config) const;
  Status WriteRecord(const ContainerRecord& record) const;
  Result<ContainerRecord> ReadRecord() const;
  std::optional<RecordedExit> ReadExit() const;
  pid_t ReadPid() const;  // 0 if there is none
  // Why runc failed, in its own words.
  std::string ReadRuncError() const;
  void MarkReaped() const;
  bool reaped() const;
  // Unmounts the root and removes it with what was written to it.
  void DropRoot() const;
  void Remove() const;

 private:
  std::string folder_;
};

}  // namespace flyball::node
