// Reads the metrics that an autoscaler scales by.
#pragma once

#include <string>

#include "api/types/autoscaling.h"
#include "client/client.h"

namespace flyball::controllers {

// Why a metric has no value.
struct MetricFailure {
  std::string reason;   // reason of the condition and the event: FailedGetResourceMetric
  std::string message;  // what went wrong
  std::string value;    // what is unavailable: "cpu resource metric value"
};

// Queries the metrics API of `metric` for the pods of a namespace that match `selector` (as text).
MetricFailure ReadMetric(const MetricSpec& metric, const std::string& ns, const std::string& selector,
                         const Client& client);

}  // namespace flyball::controllers
