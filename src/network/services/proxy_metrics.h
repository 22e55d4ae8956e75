// The metrics of kube-proxy, by its names and labels.
#pragma once

#include <map>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "network/services/service_port.h"

namespace flyball::network {

// Of one IP family. Thread-safe.
struct ProxyFamilyMetrics {
  ProxyFamilyMetrics(Metrics& metrics, IpFamily family);

  Histogram& sync;
  Histogram& full_sync;
  Histogram& partial_sync;
  Histogram& programming;
  Histogram& conntrack_sync;
  Gauge& last_sync;
  Gauge& last_queued;
  Gauge& no_local_internal;
  Gauge& no_local_external;
  Counter& sync_failures;
  Counter& cleanup_failures;
  Counter& conntrack_deleted;
};

// Of all families. Thread-safe.
struct ProxyChangeMetrics {
  explicit ProxyChangeMetrics(Metrics& metrics);

  Counter& endpoint_changes;
  Counter& service_changes;
  Gauge& endpoint_pending;
  Gauge& service_pending;
};

}  // namespace flyball::network
