// UsageSamples: what a node and its containers have used, at two moments, as its /metrics/resource says it;
// and from that what they use (upstream: metrics-server's storage).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/run/clock.h"

namespace flyball::metrics {

// At a moment: processor time since the start, and the working set.
struct UsagePoint {
  TimePoint at{}, started_at{};
  double cpu_seconds = 0;
  std::int64_t memory = 0;
};

struct ContainerKey {
  std::string ns, pod, container;
  auto operator<=>(const ContainerKey&) const = default;
};

// One answer of a node.
struct NodeSample {
  std::optional<UsagePoint> node;
  std::map<ContainerKey, UsagePoint> containers;
};
// Series that are not known, and lines that make no sense, are skipped. `now`: of series without a time.
NodeSample ParseResourceMetrics(std::string_view text, TimePoint now);

// What was used on average during a window that ended then.
struct MeasuredUsage {
  TimePoint at{};
  Duration window{};
  std::int64_t cpu_nanos = 0;  // billionths of a core
  std::int64_t memory = 0;
};

// Of one node. A value; thread-compatible.
class UsageSamples {
 public:
  // A container that has run for so long is measured from its start on; younger ones need two samples
  // (upstream: freshContainerMinMetricsResolution).
  static constexpr Duration kFreshContainer = std::chrono::seconds(10);

  // Takes the next sample. `soon`: it comes right after the last one, only for what that was the first of:
  // what has a longer window already keeps it.
  void Add(const NodeSample& sample, bool soon);
  // True if something of the last sample cannot be measured yet.
  bool incomplete() const;
  // Nothing before the first sample.
  std::optional<TimePoint> last() const { return last_; }

  std::optional<MeasuredUsage> Node() const;
  // By container. Nothing if the pod has none, or one of them cannot be measured yet.
  std::optional<std::map<std::string, MeasuredUsage>> Pod(std::string_view ns, std::string_view name) const;

 private:
  struct Series {
    std::optional<UsagePoint> before;
    UsagePoint last;
  };
  static Series Next(const Series* known, const UsagePoint& point, bool soon);
  static std::optional<MeasuredUsage> Measure(const Series& series);

  std::optional<TimePoint> last_;
  std::optional<Series> node_;
  std::map<ContainerKey, Series> containers_;
};

}  // namespace flyball::metrics
