// Slow start: doing the same thing many times without hammering a server that refuses it (upstream:
// slowStartBatch).
#pragma once

#include <functional>

#include "base/values/result.h"
#include "base/values/unique_function.h"
#include "client/runtime.h"

namespace flyball {

struct BatchResult {
  int succeeded = 0;
  Status status;  // the first error
};

// How many are under way at the most. More would not be quicker: a server lets that many of one client in at
// a time, and answers the rest with 429 (API priority and fairness).
inline constexpr int kMostUnderWay = 64;

// Starts fn(i, done) for i in [0, count) in batches of 1, 2, 4, ...; those of a batch are under way together;
// stops after the first batch with a failure. Blocks until the last batch has ended (in simulation everything
// completes at once). `done` may be called from any thread.
using StartOne = std::function<void(int i, UniqueFunction<void(Status)> done)>;
BatchResult SlowStart(int count, const StartOne& start, int initial_batch = 1);
// One batch; waits for all.
BatchResult StartAll(int count, const StartOne& start);

// The same with a plain blocking function, one after the other.
BatchResult SlowStartEach(int count, const std::function<Status(int i)>& fn);

}  // namespace flyball
