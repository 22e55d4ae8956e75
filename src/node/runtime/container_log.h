// ContainerLog: what a container wrote, one file a start, in the format of the container runtime interface:
//
//   2024-01-01T00:00:00.123456789Z stdout F the line
//
// and those who follow it, told as it grows: nobody polls.
#pragma once

#include <cstdio>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "node/runtime/native_process.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Thread-safe. Owned by shared_ptr.
class ContainerLog {
 public:
  // Opens for appending; a file that cannot be opened swallows what is written.
  ContainerLog(std::string path, const Clock& clock);
  ~ContainerLog();

  void Append(Stream stream, std::string_view data);
  // Writes what is left of unfinished lines; followers end.
  void Close();

  // Calls `grown` after every write and once at the end; it returns false to hear no more. It must not block.
  void Follow(std::function<bool(bool closed)> grown);

 private:
  void WriteLine(Stream stream, std::string_view line, bool complete) FLYBALL_REQUIRES(mu_);
  void Tell(bool closed);

  const std::string path_;
  const Clock& clock_;
  Mutex mu_;
  std::FILE* file_ FLYBALL_GUARDED_BY(mu_);
  std::string partial_[2] FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  std::list<std::function<bool(bool)>> followers_ FLYBALL_GUARDED_BY(mu_);
};

// Reads a log file by a query's rules, from where the last call ended. Confined to one reader at a time.
class LogReader {
 public:
  LogReader(std::string path, const LogQuery& query) : path_(std::move(path)), query_(query) {}

  // What is there and was not given yet. Sets `exhausted` when limit_bytes has been reached. NotFound if
  // there is no such file.
  Result<std::string> ReadMore(bool* exhausted);

 private:
  void Emit(std::string_view line, std::string& out) const;
  std::string_view SkipToTail(std::string_view text) const;

  const std::string path_;
  const LogQuery query_;
  long offset_ = 0;
  bool first_ = true;
  std::int64_t given_ = 0;
};

}  // namespace flyball::node
