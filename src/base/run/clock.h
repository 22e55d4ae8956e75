// Clock: the only source of time. Real programs use RealClock(); simulations use the virtual clock of a
// SimExecutor.
#pragma once

#include <chrono>

namespace flyball {

using Duration = std::chrono::nanoseconds;
// Wall-clock time, UTC, as used in creationTimestamp.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;
// Monotonic time, as used for timers and back-off.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  virtual SteadyTime Steady() const = 0;
};

// The machine's clock. Never destroyed.
const Clock& RealClock();

}  // namespace flyball
