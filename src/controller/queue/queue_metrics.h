// The metrics of a work queue, under client-go's names (workqueue_depth, workqueue_adds_total, ...).
#pragma once

#include <string>

#include "base/observe/metrics.h"
#include "base/run/clock.h"

namespace flyball {

// Thread-safe; stamps are guarded by their owners. Without a registry every method returns at once, and the
// clock is not read.
class QueueMetrics {
 public:
  QueueMetrics(Metrics* metrics, const std::string& name, const Clock& clock);

  bool enabled() const { return adds_ != nullptr; }

  void Added() {
    if (adds_) adds_->Add();
  }
  void Retry() {
    if (retries_) retries_->Add();
  }
  // `stamp` is the node's, and is set to now.
  void Queued(SteadyTime& stamp, std::size_t depth) {
    if (adds_) OnQueued(stamp, depth);
  }
  void Depth(std::size_t depth) {
    if (adds_) depth_->Set(static_cast<double>(depth));
  }
  // `stamp` is the one that Queued set, and is set to now.
  void Taken(SteadyTime& stamp) {
    if (adds_) OnTaken(stamp);
  }
  void Finished(SteadyTime stamp) {
    if (adds_) OnFinished(stamp);
  }

  // How long the keys being processed have been running: in total, and the longest.
  void Unfinished(Duration sum, Duration longest);

 private:
  void OnQueued(SteadyTime& stamp, std::size_t depth);
  void OnTaken(SteadyTime& stamp);
  void OnFinished(SteadyTime stamp);

  const Clock& clock_;
  Counter* adds_ = nullptr;
  Counter* retries_ = nullptr;
  Gauge* depth_ = nullptr;
  Histogram* queue_duration_ = nullptr;
  Histogram* work_duration_ = nullptr;
  Gauge* unfinished_ = nullptr;
  Gauge* longest_running_ = nullptr;
};

}  // namespace flyball
