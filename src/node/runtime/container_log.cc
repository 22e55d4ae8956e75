#include "node/runtime/container_log.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "api/values/time.h"

namespace flyball::node {
namespace {

// Longer lines are cut into parts marked P, as container runtimes do.
constexpr std::size_t kMaxLine = 16384;

// RFC 3339 with nine digits of a second.
std::string FormatNanos(TimePoint t) {
  const api::Time time = api::Time::From(t);
  std::string text = api::FormatTime(time);
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), ".%09dZ", time.nanos);
  text.pop_back();
  return text + fraction;
}

}  // namespace

ContainerLog::ContainerLog(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  file_ = std::fopen(path_.c_str(), "ae");
}

ContainerLog::~ContainerLog() {
  Close();
}

void ContainerLog::WriteLine(Stream stream, std::string_view line, bool complete) {
  if (!file_) return;
  std::string out = FormatNanos(clock_.Now());
  out += stream == Stream::kStdout ? " stdout " : " stderr ";
  out += complete ? "F " : "P ";
  out += line;
  out += '\n';
  std::fwrite(out.data(), 1, out.size(), file_);
}

void ContainerLog::Append(Stream stream, std::string_view data) {
  {
    MutexLock lock(mu_);
    std::string& partial = partial_[stream == Stream::kStdout ? 0 : 1];
    partial.append(data);
    std::size_t begin = 0;
    for (std::size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
      WriteLine(stream, std::string_view(partial).substr(begin, end - begin), true);
    for (; partial.size() - begin > kMaxLine; begin += kMaxLine)
      WriteLine(stream, std::string_view(partial).substr(begin, kMaxLine), false);
    partial.erase(0, begin);
    if (file_) std::fflush(file_);
  }
  Tell(false);
}

void ContainerLog::Close() {
  {
    MutexLock lock(mu_);
    if (std::exchange(closed_, true)) return;
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      std::string& partial = partial_[stream == Stream::kStdout ? 0 : 1];
      if (!partial.empty()) WriteLine(stream, partial, true);
      partial.clear();
    }
    if (file_) std::fclose(file_);
    file_ = nullptr;
  }
  Tell(true);
}

void ContainerLog::Tell(bool closed) {
  std::list<std::function<bool(bool)>> told;
  {
    MutexLock lock(mu_);
    told.swap(followers_);
  }
  told.remove_if([closed](const auto& grown) { return !grown(closed) || closed; });
  if (told.empty()) return;
  MutexLock lock(mu_);
  followers_.splice(followers_.end(), told);
}

void ContainerLog::Follow(std::function<bool(bool closed)> grown) {
  bool closed;
  {
    MutexLock lock(mu_);
    closed = closed_;
    if (!closed) followers_.push_back(grown);
  }
  // What was written between the caller's last read and now.
  grown(closed);
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

std::string_view LogReader::SkipToTail(std::string_view text) const {
  if (query_.tail_lines < 0) return text;
  if (query_.tail_lines == 0) return {};
  std::int64_t lines = 0;
  for (std::size_t i = text.size(); i > 0; --i)
    if (text[i - 1] == '\n' && lines++ == query_.tail_lines) return text.substr(i);
  return text;
}

Result<std::string> LogReader::ReadMore(bool* exhausted) {
  *exhausted = false;
  std::FILE* file = std::fopen(path_.c_str(), "re");
  if (!file) return Unexpected(Error(Reason::kNotFound, "no log at " + path_));
  std::fseek(file, offset_, SEEK_SET);
  std::string text;
  char buffer[16384];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  offset_ += static_cast<long>(text.size());
  std::string_view rest = std::exchange(first_, false) ? SkipToTail(text) : std::string_view(text);
  std::string out;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    Emit(rest.substr(0, end), out);
    rest.remove_prefix(end + 1);
  }
  if (query_.limit_bytes >= 0 && given_ + static_cast<std::int64_t>(out.size()) >= query_.limit_bytes) {
    out.resize(static_cast<std::size_t>(query_.limit_bytes - given_));
    *exhausted = true;
  }
  given_ += static_cast<std::int64_t>(out.size());
  return out;
}

}  // namespace flyball::node
