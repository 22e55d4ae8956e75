// Asking for the numbers an autoscaler scales by.
#pragma once

#include <string>

#include "api/types/autoscaling.h"
#include "client/client.h"

namespace flyball::controllers {

// Why a metric has no value.
struct MetricFailure {
  std::string reason;   // of the condition and the event: FailedGetResourceMetric
  std::string message;  // what went wrong
  std::string value;    // what could not be had: "cpu resource metric value"
};

// Asks the metrics API that `metric` is of, for the pods of a namespace that `selector` (as text) means.
MetricFailure ReadMetric(const MetricSpec& metric, const std::string& ns, const std::string& selector,
                         const Client& client);

}  // namespace flyball::controllers
