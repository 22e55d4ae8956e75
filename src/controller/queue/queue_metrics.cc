#include "controller/queue/queue_metrics.h"

namespace flyball {
namespace {

// client-go's buckets: 10 ns to 10 s, factor ten.
const std::vector<double> kBuckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10};

double Seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

QueueMetrics::QueueMetrics(Metrics* metrics, const std::string& name, const Clock& clock) : clock_(clock) {
  if (!metrics) return;
  const MetricLabels labels{{"name", name}};
  adds_ = &metrics->GetCounter("workqueue_adds_total", "Total number of adds handled by workqueue", labels);
  retries_ =
      &metrics->GetCounter("workqueue_retries_total", "Total number of retries handled by workqueue", labels);
  depth_ = &metrics->GetGauge("workqueue_depth", "Current depth of workqueue", labels);
  queue_duration_ = &metrics->GetHistogram(
      "workqueue_queue_duration_seconds",
      "How long in seconds an item stays in workqueue before being requested", kBuckets, labels);
  work_duration_ =
      &metrics->GetHistogram("workqueue_work_duration_seconds",
                             "How long in seconds processing an item from workqueue takes", kBuckets, labels);
  unfinished_ =
      &metrics->GetGauge("workqueue_unfinished_work_seconds",
                         "How many seconds of work has been done that is in progress and hasn't been "
                         "observed by work_duration. Large values indicate stuck threads",
                         labels);
  longest_running_ = &metrics->GetGauge(
      "workqueue_longest_running_processor_seconds",
      "How many seconds has the longest running processor for workqueue been running", labels);
}

void QueueMetrics::Unfinished(Duration sum, Duration longest) {
  if (!unfinished_) return;
  unfinished_->Set(Seconds(sum));
  longest_running_->Set(Seconds(longest));
}

void QueueMetrics::OnQueued(SteadyTime& stamp, std::size_t depth) {
  stamp = clock_.Steady();
  depth_->Set(static_cast<double>(depth));
}

void QueueMetrics::OnTaken(SteadyTime& stamp) {
  const SteadyTime now = clock_.Steady();
  queue_duration_->Observe(Seconds(now - stamp));
  stamp = now;
}

void QueueMetrics::OnFinished(SteadyTime stamp) {
  work_duration_->Observe(Seconds(clock_.Steady() - stamp));
}

}  // namespace flyball
