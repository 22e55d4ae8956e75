#include "node/runtime/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "api/values/time.h"

namespace flyball::node {
namespace {

// What one step reads, and so what a reader costs while it waits.
constexpr std::size_t kPart = 128u << 10;

LogFd OpenForReading(const std::string& path) {
  return LogFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

ssize_t ReadSome(int fd, char* data, std::size_t size) {
  while (true) {
    const ssize_t n = ::read(fd, data, size);
    if (n >= 0 || errno != EINTR) return n;
  }
}

bool IsSameFile(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// Where the last `lines` lines of the file begin; counts those it has down if it has fewer.
off_t TailOffset(int fd, std::int64_t& lines) {
  std::array<char, 16384> block;
  off_t end = ::lseek(fd, 0, SEEK_END);
  while (end > 0) {
    const auto size = static_cast<std::size_t>(std::min<off_t>(end, static_cast<off_t>(block.size())));
    const off_t begin = end - static_cast<off_t>(size);
    if (::pread(fd, block.data(), size, begin) != static_cast<ssize_t>(size)) return begin;
    for (std::size_t i = size; i > 0; --i)
      if (block[i - 1] == '\n' && lines-- == 0) return begin + static_cast<off_t>(i);
    end = begin;
  }
  return 0;
}

}  // namespace

Status LogReader::Begin() {
  std::vector<LogFd> files;
  for (const std::string& segment : LogSegments(path_))
    if (LogFd file = OpenForReading(segment)) files.push_back(std::move(file));
  if (files.empty()) return Unexpected(Error(Reason::kNotFound, "no log at " + path_));
  if (query_.tail_lines < 0) {
    file_ = std::move(files.front());
    return {};
  }
  // The line end of the last line itself counts too: one more than lines is looked for.
  std::int64_t lines = query_.tail_lines;
  while (!files.empty()) {
    file_ = std::move(files.back());
    files.pop_back();
    const off_t offset = TailOffset(file_.get(), lines);
    ::lseek(file_.get(), offset, SEEK_SET);
    if (lines < 0) break;
  }
  return {};
}

std::string LogReader::Newer() const {
  const std::vector<std::string> segments = LogSegments(path_);
  const auto own = std::find_if(segments.begin(), segments.end(),
                                [&](const std::string& s) { return IsSameFile(file_.get(), s); });
  // Rotated out and dropped while it was read: what is left is newer.
  const auto next = own == segments.end() ? segments.begin() : own + 1;
  return next == segments.end() ? "" : *next;
}

// The file that was next may be renamed before it is opened, and another have its name: look again.
void LogReader::OpenNext() {
  constexpr int kTries = 16;
  for (int i = 0; i < kTries && complete_; ++i) {
    LogFd next = OpenForReading(Newer());
    if (!next || !IsSameFile(next.get(), Newer())) continue;
    file_ = std::move(next);
    complete_ = false;
  }
}

Result<LogReader::Part> LogReader::Read() {
  if (!file_) FLYBALL_TRY(Begin());
  Part part;
  const std::size_t kept = rest_.size();
  rest_.resize(kept + kPart);
  const ssize_t n = ReadSome(file_.get(), rest_.data() + kept, kPart);
  rest_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n <= 0) {
    // What was written between our last read and the rotation is read before going on.
    if (complete_) {
      OpenNext();
    } else {
      complete_ = !Newer().empty();
      part.at_end = !complete_;
    }
    return part;
  }
  std::string_view lines = rest_;
  for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos; lines.remove_prefix(end + 1))
    Emit(lines.substr(0, end), part.text);
  rest_ = std::string(lines);
  if (query_.limit_bytes >= 0 && given_ + static_cast<std::int64_t>(part.text.size()) >= query_.limit_bytes) {
    part.text.resize(static_cast<std::size_t>(query_.limit_bytes - given_));
    part.exhausted = true;
  }
  given_ += static_cast<std::int64_t>(part.text.size());
  return part;
}

void LogReader::Emit(std::string_view line, std::string& out) const {
  const std::size_t time_end = line.find(' ');
  const std::size_t tag = time_end == std::string_view::npos ? time_end : line.find(' ', time_end + 1);
  if (tag == std::string_view::npos || tag + 3 > line.size()) return;
  if (query_.since != TimePoint{}) {
    const auto when = api::ParseTime(line.substr(0, time_end));
    if (when && when->ToTimePoint() < query_.since) return;
  }
  if (query_.timestamps) out.append(line.substr(0, time_end + 1));
  out.append(line.substr(tag + 3));
  if (line[tag + 1] == 'F') out += '\n';
}

bool LogPump::Wake(bool ends) {
  {
    MutexLock lock(mu_);
    if (over_) return false;
    ends_ = ends_ || ends;
    if (std::exchange(running_, true)) {
      again_ = true;
      return true;
    }
  }
  Post();
  return true;
}

void LogPump::Post() {
  executor_.Post([self = shared_from_this()] { self->Step(); });
}

void LogPump::Step() {
  bool ends;
  {
    MutexLock lock(mu_);
    again_ = false;
    ends = ends_;
  }
  const auto part = reader_.Read();
  if (!part) return Finish(Unexpected(part.error()));
  if (!part->text.empty() && !sink_.write(part->text)) {
    MutexLock lock(mu_);
    over_ = true;
    return;
  }
  if (part->exhausted || (part->at_end && ends)) return Finish({});
  if (sink_.wait && sink_.wait([self = shared_from_this()] { self->Post(); })) return;
  if (!part->at_end) return Post();
  {
    MutexLock lock(mu_);
    running_ = again_;
    if (!running_) return;
  }
  Post();
}

void LogPump::Finish(const Status& status) {
  {
    MutexLock lock(mu_);
    over_ = true;
  }
  sink_.done(status);
}

}  // namespace flyball::node
