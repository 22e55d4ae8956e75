// ProgressLine: says on a terminal how far something is that people wait for, in one line that is written
// over and gone at the end. Where output goes to a pipe or a file, nothing is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/run/mutex.h"
#include "base/run/thread.h"

namespace flyball {

// Thread-safe. Only one at a time has anything on the terminal.
class ProgressLine {
 public:
  // Whether people are watching: standard output and standard error are terminals that can write over a line.
  static bool Wanted();

  ProgressLine() : ProgressLine(Wanted()) {}
  explicit ProgressLine(bool active) : active_(active) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool active() const { return active_; }
  // Writes the text in place of the last one, cut to the width of the terminal. Of texts that come faster
  // than one can read, some are left out.
  void Show(const std::string& text);
  // Takes the line away: before other output, and at the end.
  void Clear();

 private:
  const bool active_;
  Mutex mu_;
  bool shown_ FLYBALL_GUARDED_BY(mu_) = false;
  SteadyTime last_ FLYBALL_GUARDED_BY(mu_){};
};

// Shows what `text` says, again and again, as long as it lives. If nobody watches nothing is asked.
// Thread-safe.
class ProgressTicker {
 public:
  explicit ProgressTicker(std::function<std::string()> text,
                          Duration interval = std::chrono::milliseconds(100));
  bool active() const { return line_.active(); }
  // Nothing is on the line while `print` runs.
  void Print(const std::function<void()>& print);

 private:
  void Tick();

  const std::function<std::string()> text_;
  const Duration interval_;
  Mutex mu_;  // one writes to the terminal at a time
  ProgressLine line_;
  TimerThread timer_;  // ends first
};

// "[############............] 50 %" for 5 of 10; empty as long as the whole is not known.
std::string ProgressBar(std::int64_t done, std::int64_t whole);
// "12.3 MB".
std::string SizeText(std::int64_t bytes);

}  // namespace flyball
