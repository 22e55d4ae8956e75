// The documents in which a node says what is used on it, as kubelet's server has them.
#pragma once

#include <string>

#include "json/value.h"
#include "node/stats/usage.h"

namespace flyball::node {

// /metrics/resource, in the Prometheus text format.
std::string ResourceMetricsText(const NodeStats& stats);
// /metrics/cadvisor: the core series.
std::string CadvisorMetricsText(const NodeStats& stats);
// /stats/summary. `cpu_and_memory_only`: its parameter only_cpu_and_memory.
json::Value StatsSummary(const NodeStats& stats, bool cpu_and_memory_only);

}  // namespace flyball::node
