#include "node/runtime/container_log.h"

#include <cstdio>

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

ContainerLog::ContainerLog(std::string path, const LogLimits& limits, const Clock& clock)
    : clock_(clock), writer_(std::move(path), limits, clock) {}

ContainerLog::~ContainerLog() {
  Close();
}

void ContainerLog::WriteLine(Stream stream, std::string_view line, bool complete) {
  std::string out = FormatNanos(clock_.Now());
  out += stream == Stream::kStdout ? " stdout " : " stderr ";
  out += complete ? "F " : "P ";
  out += line;
  out += '\n';
  writer_.Add(out);
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
    writer_.Flush();
  }
  Tell(false);
}

void ContainerLog::Close() {
  {
    MutexLock lock(mu_);
    if (std::exchange(closed_, true)) return;
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      std::string& partial = partial_[stream == Stream::kStdout ? 0 : 1];
      if (!partial.empty()) WriteLine(stream, partial, false);
      partial.clear();
    }
    writer_.Flush();
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

}  // namespace flyball::node
