// ContainerLog: what a container wrote since one start, in the format of the container runtime interface:
//
//   2024-01-01T00:00:00.123456789Z stdout F the line
//
// and those who follow it, told as it grows: nobody polls.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "node/runtime/log_files.h"
#include "node/runtime/native_process.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Thread-safe. Owned by shared_ptr.
class ContainerLog {
 public:
  // Goes on where the files at `path` end (see log_files.h).
  ContainerLog(std::string path, const LogLimits& limits, const Clock& clock);
  ~ContainerLog();

  void Append(Stream stream, std::string_view data);
  // Writes what is left of unfinished lines; followers end.
  void Close();

  // Calls `grown` after every write and once at the end; it returns false to hear no more. It must not block.
  void Follow(std::function<bool(bool closed)> grown);

 private:
  void WriteLine(Stream stream, std::string_view line, bool complete) FLYBALL_REQUIRES(mu_);
  void Tell(bool closed);

  const Clock& clock_;
  Mutex mu_;
  LogWriter writer_ FLYBALL_GUARDED_BY(mu_);
  std::string partial_[2] FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  std::list<std::function<bool(bool)>> followers_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
