// ReloadMetrics: counts how changes of a configuration file went, by upstream's names.
#pragma once

#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/clock.h"

namespace flyball::server {

// apiserver_<controller>_automatic_reloads_total and ..._automatic_reload_last_timestamp_seconds.
// Thread-safe.
class ReloadMetrics {
 public:
  // `what`: "authentication" or "authorization".
  ReloadMetrics(std::string what, Metrics& metrics, const Clock& clock)
      : what_(std::move(what)), metrics_(metrics), clock_(clock) {}

  void Record(bool success) const {
    const MetricLabels labels{{"status", success ? "success" : "failure"}, {"apiserver_id_hash", ""}};
    const std::string prefix = "apiserver_" + what_ + "_config_controller_";
    metrics_
        .GetCounter(prefix + "automatic_reloads_total",
                    "Total number of automatic reloads of " + what_ +
                        " configuration split by status and apiserver identity.",
                    labels)
        .Add();
    metrics_
        .GetGauge(prefix + "automatic_reload_last_timestamp_seconds",
                  "Timestamp of the last automatic reload of " + what_ +
                      " configuration split by status and apiserver identity.",
                  labels)
        .Set(std::chrono::duration<double>(clock_.Now().time_since_epoch()).count());
  }

 private:
  const std::string what_;
  Metrics& metrics_;
  const Clock& clock_;
};

}  // namespace flyball::server
