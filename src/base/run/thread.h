// Thread and TimerThread: the only places that start a thread or sleep.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "base/values/unique_function.h"

namespace flyball {

// A named thread that is joined on destruction; threads are never detached. Thread-compatible, movable.
class Thread {
 public:
  Thread() = default;
  Thread(std::string name, Closure body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) noexcept = default;
  ~Thread() { Join(); }

  void Join();

 private:
  std::thread thread_;
};

// Calls closures at given times on its own thread. The thread starts with the first timer, so an idle
// TimerThread costs nothing. Thread-safe. Closures should only pass work on, because they delay every later
// timer.
class TimerThread {
 public:
  explicit TimerThread(std::string name) : name_(std::move(name)) {}
  ~TimerThread() { Stop(); }

  std::uint64_t Add(SteadyTime when, Closure fn);
  bool Cancel(std::uint64_t id);
  void Stop();

 private:
  void Run();

  const std::string name_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::map<std::pair<SteadyTime, std::uint64_t>, Closure> timers_;
  std::map<std::uint64_t, SteadyTime> when_;
  std::uint64_t next_id_ = 1;
  bool stopping_ = false;
  Thread thread_;
};

// From now on this thread runs when others leave a processor free, for most of the time. What the system does
// not allow is left as it is.
void LowerThisThreadsPriority();

// Blocks the calling thread. For programs' main functions and tests' real processes only; everything else
// uses timers.
void SleepFor(Duration d);

}  // namespace flyball
