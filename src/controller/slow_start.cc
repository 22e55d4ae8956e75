#include "controller/slow_start.h"

#include <algorithm>
#include <memory>

#include "base/mutex.h"

namespace flyball {
namespace {

// Counts a batch in.
struct Batch {
  explicit Batch(int n) : left(n) {}
  void Arrive(const Status& s) {
    MutexLock lock(mu);
    if (s)
      ++succeeded;
    else if (status)
      status = s;
    if (--left == 0) all_done.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mu);
    while (left > 0) all_done.Wait(mu);
  }

  Mutex mu;
  CondVar all_done;
  int left FLYBALL_GUARDED_BY(mu);
  int succeeded FLYBALL_GUARDED_BY(mu) = 0;
  Status status FLYBALL_GUARDED_BY(mu);
};

BatchResult RunBatch(int first, int count, const StartOne& start) {
  auto batch = std::make_shared<Batch>(count);
  for (int i = 0; i < count; ++i) start(first + i, [batch](Status s) { batch->Arrive(s); });
  batch->Wait();
  MutexLock lock(batch->mu);
  return {batch->succeeded, batch->status};
}

}  // namespace

BatchResult StartAll(int count, const StartOne& start) {
  return count > 0 ? RunBatch(0, count, start) : BatchResult{};
}

BatchResult SlowStart(int count, const StartOne& start, int initial_batch) {
  BatchResult total;
  int next = 0;
  for (int size = std::min(count, initial_batch); size > 0; size = std::min(2 * size, count - next)) {
    const BatchResult batch = RunBatch(next, size, start);
    total.succeeded += batch.succeeded;
    next += size;
    if (!batch.status) {
      total.status = batch.status;
      return total;
    }
  }
  return total;
}

BatchResult SlowStartEach(int count, const std::function<Status(int i)>& fn) {
  return SlowStart(count, [&fn](int i, UniqueFunction<void(Status)> done) { done(fn(i)); });
}

}  // namespace flyball
