// Slow start: performs the same operation many times without overloading a server that rejects it (upstream:
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

// The most operations in flight at once. More would not be faster: API priority and fairness admits about
// this many requests per client and rejects the rest with 429.
inline constexpr int kMostUnderWay = 64;

// Starts fn(i, done) for i in [0, count) in batches of 1, 2, 4, ... The operations of a batch run
// concurrently. Stops after the first batch with a failure. Blocks until the last batch has ended (in
// simulation everything completes at once). `done` may be called from any thread.
using StartOne = std::function<void(int i, UniqueFunction<void(Status)> done)>;
BatchResult SlowStart(int count, const StartOne& start, int initial_batch = 1);
// Runs one batch and waits for all of it.
BatchResult StartAll(int count, const StartOne& start);

// The same for a plain blocking function, one call after the other.
BatchResult SlowStartEach(int count, const std::function<Status(int i)>& fn);

}  // namespace flyball
