// What a node's server says of the node: its pods, what is used, and metrics.
#pragma once

#include <memory>

#include "base/observe/metrics.h"
#include "net/http/http.h"
#include "node/pod/pod_source.h"
#include "node/streams/node_request.h"

namespace flyball::node {

// Answers a GET of /pods, /stats/summary, /metrics, /metrics/resource or /metrics/cadvisor about the source's
// node; false if it asks for something else. `metrics` (may be null): further ones that /metrics shows.
bool ServeNodeDocument(const NodeRequest& asked, PodSource& source,
                       const std::shared_ptr<net::ResponseStream>& stream, Metrics* metrics);

}  // namespace flyball::node
