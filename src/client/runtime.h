// Runtime: where the SDK gets time, chance, threads and counters from. Given at construction, so that a
// program runs on thread pools and a simulation on one thread and virtual time, with the same code.
#pragma once

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/random.h"

namespace flyball {

// References only: whoever makes a Runtime keeps its parts alive longer than everything built on it.
// The executor must also be stopped (or drained) after the things built on it, never before.
struct Runtime {
  // Runs the machinery: streams, queues, timers, elections. Nothing posted here blocks.
  Executor& executor;
  Random& random;
  Metrics& metrics;
  // Runs users' reconcilers, which may block. Null: `executor` (simulation, or a program that never blocks).
  Executor* workers = nullptr;
  // False in simulation: a synchronous call that cannot complete at once fails with kTimeout instead of
  // blocking the only thread there is.
  bool may_block = true;

  Executor& worker_executor() const { return workers ? *workers : executor; }
  const Clock& clock() const { return executor.clock(); }
};

}  // namespace flyball
