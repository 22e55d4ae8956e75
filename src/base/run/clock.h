// Clock: the only place time comes from. Real code gets RealClock(); simulations get a SimExecutor's virtual
// clock.
#pragma once

#include <chrono>

namespace flyball {

using Duration = std::chrono::nanoseconds;
// Wall-clock time, UTC: what goes into creationTimestamp.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;
// Monotonic time: what timers and back-offs are measured in.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  virtual SteadyTime Steady() const = 0;
};

// The machine's clock. Lives for ever.
const Clock& RealClock();

}  // namespace flyball
