// The files of one container's log: the one being written and those rotated out, oldest dropped first
// (upstream: kubelet's container log manager). "<path>" is the current one, "<path>.<time>" the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run/clock.h"

namespace flyball::node {

// Kubelet's defaults (--container-log-max-size, --container-log-max-files).
struct LogLimits {
  std::int64_t max_size = 10 << 20;  // bytes of a file; longer lines than that get one of their own
  int max_files = 5;                 // with the current one; at least 2
};

// A file descriptor that is closed in the end. Thread-compatible.
class LogFd {
 public:
  LogFd() = default;
  explicit LogFd(int fd) : fd_(fd) {}
  LogFd(LogFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LogFd& operator=(LogFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~LogFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Those that exist, oldest first; the current one is the last.
std::vector<std::string> LogSegments(const std::string& path);

// Writes lines, each whole in one file. Thread-compatible.
class LogWriter {
 public:
  // Opens for appending, mode 0640. A file that cannot be opened swallows what is written.
  LogWriter(std::string path, const LogLimits& limits, const Clock& clock);

  // `line` ends with a line end. Kept until Flush or until the file is full.
  void Add(std::string_view line);
  void Flush();

 private:
  void Open();
  void Rotate();

  const std::string path_;
  const LogLimits limits_;
  const Clock& clock_;
  LogFd file_;
  std::int64_t size_ = 0;  // with what is not flushed yet
  std::string unwritten_;
};

}  // namespace flyball::node
