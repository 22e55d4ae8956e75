// MetricsApi: metrics.k8s.io/v1beta1, NodeMetrics and PodMetrics, as metrics-server serves them.
//
// Flow: a request names nodes or pods. The nodes it is about are asked what is used, unless they were within
// the last ten seconds; what has no earlier sample to compare with is asked about again a second later.
// Nothing happens while nobody asks. Assumptions: whoever passes requests on has authorized them, as an
// aggregator does.
#pragma once

#include <memory>
#include <vector>

#include "client/client.h"
#include "json/value.h"
#include "net/http/http.h"

namespace flyball::metrics {

// The Service that the APIService names. It need not exist.
inline constexpr char kMetricsServiceNamespace[] = "kube-system";
inline constexpr char kMetricsServiceName[] = "flyball-metrics";

// Who the client of NewMetricsApi is.
inline constexpr char kMetricsUser[] = "system:flyball:metrics";

// The APIService and the roles: what a cluster needs, and whoever installs another metrics server replaces.
std::vector<json::Value> MetricsApiObjects();

// `client` may list nodes and pods, and get nodes/proxy. What it is built on, and its runtime, must outlive
// the handler's requests.
net::Handler NewMetricsApi(Client client);

}  // namespace flyball::metrics
