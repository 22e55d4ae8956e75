// How the program is asked to stop: signals, and the end of the process that started it.
#pragma once

#include <memory>

#include "base/values/result.h"

namespace flyball::cli {

// Blocks SIGINT, SIGTERM and SIGHUP in every thread started from now on. To be called before any is started,
// by programs that serve: the user's verbs end at once when interrupted.
void BlockStopSignals();
// Waits for one of them; returns its number.
int WaitForStopSignal();
// Makes the process stop as if it had been asked to from outside.
void StopBySignal();

// Stops this program (StopBySignal) when the process that started it has ended, also by SIGKILL. It waits for
// the process and not for the thread that started this program, as PR_SET_PDEATHSIG would: programs in Go
// start children on threads that come and go. Thread-safe.
class ParentWatch {
 public:
  // Requires that stop signals are blocked. An error if the system cannot watch processes.
  static Result<std::unique_ptr<ParentWatch>> Start();
  virtual ~ParentWatch() = default;

  // Whether the parent has ended.
  virtual bool gone() const = 0;
};

}  // namespace flyball::cli
