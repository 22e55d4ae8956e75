#include "controller/objects/slow_start.h"

#include <algorithm>
#include <memory>

#include "base/run/mutex.h"

namespace flyball {
namespace {

// Counts the operations of a batch.
class Batch {
 public:
  // When the maximum is in flight, waits until half of it is done: waking up for each one would cost more
  // than the request.
  void Begin() {
    MutexLock lock(mu_);
    if (under_way_ >= kMostUnderWay) WaitUntilLeft(kMostUnderWay / 2);
    ++under_way_;
  }
  void Arrive(const Status& s) {
    MutexLock lock(mu_);
    if (s)
      ++result_.succeeded;
    else if (result_.status)
      result_.status = s;
    if (--under_way_ == awaited_) few_left_.NotifyAll();
  }
  BatchResult WaitForAll() {
    MutexLock lock(mu_);
    WaitUntilLeft(0);
    return result_;
  }

 private:
  void WaitUntilLeft(int count) FLYBALL_REQUIRES(mu_) {
    awaited_ = count;
    while (under_way_ > count) few_left_.Wait(mu_);
  }

  Mutex mu_;
  CondVar few_left_;
  int awaited_ FLYBALL_GUARDED_BY(mu_) = 0;
  int under_way_ FLYBALL_GUARDED_BY(mu_) = 0;
  BatchResult result_ FLYBALL_GUARDED_BY(mu_);
};

BatchResult RunBatch(int first, int count, const StartOne& start) {
  auto batch = std::make_shared<Batch>();
  for (int i = 0; i < count; ++i) {
    batch->Begin();
    start(first + i, [batch](Status s) { batch->Arrive(s); });
  }
  return batch->WaitForAll();
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
