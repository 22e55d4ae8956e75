#include "node/runtime/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "api/values/time.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kLogMode = 0640;
constexpr mode_t kLogFolderMode = 0750;

// "20060102-150405.000000001": sorts by time. Kubelet's, with nanoseconds, as a fast writer fills more than
// one file a second.
std::string RotatedName(const std::string& path, TimePoint now) {
  const api::Time time = api::Time::From(now);
  std::string text = api::FormatTime(time);  // 2006-01-02T15:04:05Z
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::replace(text.begin(), text.end(), 'T', '-');
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), ".%09d", time.nanos);
  return path + "." + text + fraction;
}

// The name that sorts next, of the same length: its digits as one number, and one more.
std::string NameAfter(std::string name) {
  for (std::size_t i = name.size(); i-- > 0 && name[i] != '/';) {
    if (name[i] < '0' || name[i] > '9') continue;
    if (name[i] != '9') {
      ++name[i];
      break;
    }
    name[i] = '0';
  }
  return name;
}

void MakeLogFolder(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  fs::create_directories(folder, ignored);
  ::chmod(folder.c_str(), kLogFolderMode);
}

}  // namespace

LogFd::~LogFd() {
  if (fd_ >= 0) ::close(fd_);
}

std::vector<std::string> LogSegments(const std::string& path) {
  const fs::path current(path);
  const std::string prefix = current.filename().string() + ".";
  std::vector<std::string> segments;
  std::error_code error;
  for (fs::directory_iterator it(current.parent_path(), error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(prefix)) segments.push_back(it->path().string());
  std::sort(segments.begin(), segments.end());
  if (fs::exists(current, error)) segments.push_back(path);
  return segments;
}

LogWriter::LogWriter(std::string path, const LogLimits& limits, const Clock& clock)
    : path_(std::move(path)), limits_(limits), clock_(clock) {
  MakeLogFolder(path_);
  Open();
}

void LogWriter::Open() {
  file_ = LogFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kLogMode));
  size_ = 0;
  if (!file_) return;
  // Whatever the umask is.
  ::fchmod(file_.get(), kLogMode);
  struct stat info {};
  if (::fstat(file_.get(), &info) == 0) size_ = info.st_size;
}

void LogWriter::Add(std::string_view line) {
  const auto bytes = static_cast<std::int64_t>(line.size());
  if (size_ > 0 && size_ + bytes > limits_.max_size) {
    Flush();
    Rotate();
  }
  unwritten_.append(line);
  size_ += bytes;
}

void LogWriter::Flush() {
  std::string_view rest = unwritten_;
  while (file_ && !rest.empty()) {
    const ssize_t n = ::write(file_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    // A full disk: what does not fit is lost, the container goes on.
    if (n <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  unwritten_.clear();
}

void LogWriter::Rotate() {
  std::vector<std::string> segments = LogSegments(path_);
  if (!segments.empty()) segments.pop_back();  // the current one
  std::string name = RotatedName(path_, clock_.Now());
  // A clock that stands still or was set back must not put the newest file before the others.
  if (!segments.empty() && name <= segments.back()) name = NameAfter(segments.back());
  std::error_code failed, ignored;
  fs::rename(path_, name, failed);
  // What cannot be kept goes: the limit holds.
  if (failed) fs::remove(path_, ignored);
  segments.push_back(std::move(name));
  const auto kept = static_cast<std::size_t>(std::max(limits_.max_files, 2) - 1);
  for (std::size_t i = 0; i + kept < segments.size(); ++i) fs::remove(segments[i], ignored);
  Open();
}

}  // namespace flyball::node
