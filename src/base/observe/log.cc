#include "base/observe/log.h"

#include <unistd.h>

#include <atomic>
#include <ctime>
#include <functional>

#include "base/observe/log_output.h"
#include "base/run/clock.h"
#include "base/run/mutex.h"

namespace flyball::log {
namespace {

std::atomic<Level> g_level{Level::kInfo};
std::atomic<bool> g_redirected{false};
Mutex g_output_mu;
std::function<void(std::string_view)> g_output FLYBALL_GUARDED_BY(g_output_mu);

void AppendQuoted(std::string& out, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \t\n\"=") == std::string_view::npos;
  if (plain) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string Timestamp() {
  const auto now = RealClock().Now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  const std::time_t t = seconds.count();
  std::tm tm{};
  gmtime_r(&t, &tm);
  char buf[40];
  const auto n = std::strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%S", &tm);
  std::string out(buf, n);
  const auto digits = std::to_string(millis);
  return out + "." + std::string(3 - digits.size(), '0') + digits + "Z";
}

}  // namespace

void SetLevel(Level level) {
  g_level = level;
}
void SetOutput(std::function<void(std::string_view line)> output) {
  MutexLock lock(g_output_mu);
  g_output = std::move(output);
  g_redirected.store(g_output != nullptr, std::memory_order_release);
}
bool Enabled(Level level) {
  return level >= g_level.load(std::memory_order_relaxed);
}

void Write(Level level, std::string_view message, std::initializer_list<Pair> pairs) {
  if (!Enabled(level)) return;
  constexpr std::string_view kNames[] = {"DEBUG", "INFO", "WARN", "ERROR"};
  std::string line = Timestamp();
  line += ' ';
  line += kNames[static_cast<int>(level)];
  line += ' ';
  line += message;
  for (const auto& pair : pairs) {
    line += ' ';
    line += pair.key;
    line += '=';
    AppendQuoted(line, pair.value);
  }
  line += '\n';
  if (g_redirected.load(std::memory_order_acquire)) {
    MutexLock lock(g_output_mu);
    if (g_output) return g_output(line);
  }
  // One write per line, so that lines of several threads do not mix. A closed standard error is ignored.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace flyball::log
