// Metrics as a Table: what `kubectl get pods.metrics.k8s.io` shows.
#pragma once

#include "json/value.h"

namespace flyball::metrics {

// Of a NodeMetrics, a PodMetrics, or a list of them. Containers of a pod are added up.
json::Value MetricsTable(const json::Value& metrics);

}  // namespace flyball::metrics
