#include "base/observe/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace flyball {
namespace {

constexpr Duration kReadable = std::chrono::milliseconds(100);
constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kBarWidth = 24;

void WriteToTerminal(const std::string& text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::size_t TerminalWidth() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

// As many characters of the text; a character is one column.
std::string FirstColumns(const std::string& text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t taken = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && taken++ == columns) break;
  }
  return text.substr(0, at);
}

}  // namespace

bool ProgressLine::Wanted() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 && terminal && *terminal &&
         std::string_view(terminal) != "dumb";
}

void ProgressLine::Show(const std::string& text) {
  if (!active_) return;
  MutexLock lock(mu_);
  const SteadyTime now = RealClock().Steady();
  if (shown_ && now - last_ < kReadable) return;
  shown_ = true;
  last_ = now;
  // In a last column many terminals begin a new line. What others write goes over the text, not behind it.
  WriteToTerminal("\r" + FirstColumns(text, TerminalWidth() - 1) + "\x1b[K\r");
}

void ProgressLine::Clear() {
  MutexLock lock(mu_);
  if (shown_) WriteToTerminal("\x1b[K");
  shown_ = false;
}

ProgressTicker::ProgressTicker(std::function<std::string()> text, Duration interval)
    : text_(std::move(text)), interval_(interval), timer_("progress") {
  if (active()) timer_.Add(RealClock().Steady() + kReadable, [this] { Tick(); });
}

void ProgressTicker::Print(const std::function<void()>& print) {
  MutexLock lock(mu_);
  line_.Clear();
  print();
}

void ProgressTicker::Tick() {
  {
    MutexLock lock(mu_);
    line_.Show(text_());
  }
  timer_.Add(RealClock().Steady() + interval_, [this] { Tick(); });
}

std::string ProgressBar(std::int64_t done, std::int64_t whole) {
  const double part =
      whole > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(whole), 0.0, 1.0) : 0;
  const auto filled = static_cast<std::size_t>(part * kBarWidth);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] " +
         std::to_string(static_cast<int>(part * 100)) + " %";
}

std::string SizeText(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < kUnits.size(); ++unit) size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
  return text;
}

}  // namespace flyball
