#include "network/services/proxy_metrics.h"

#include <vector>

namespace flyball::network {
namespace {

constexpr char kSync[] = "kubeproxy_sync_proxy_rules_";

std::vector<double> SyncBuckets() {
  std::vector<double> buckets;
  for (double bound = 0.001; buckets.size() < 15; bound *= 2) buckets.push_back(bound);
  return buckets;
}

// From a quarter of a second to five minutes, finer where clusters are healthy.
std::vector<double> ProgrammingBuckets() {
  std::vector<double> buckets{0.25, 0.5};
  for (int i = 1; i < 60; ++i) buckets.push_back(i);
  for (int i = 60; i < 120; i += 5) buckets.push_back(i);
  for (int i = 120; i <= 300; i += 30) buckets.push_back(i);
  return buckets;
}

MetricLabels Of(IpFamily family) {
  return {{"ip_family", std::string(FamilyName(family))}};
}

MetricLabels PolicyOf(IpFamily family, const char* policy) {
  MetricLabels labels = Of(family);
  labels["traffic_policy"] = policy;
  return labels;
}

}  // namespace

ProxyFamilyMetrics::ProxyFamilyMetrics(Metrics& metrics, IpFamily family)
    : sync(metrics.GetHistogram(std::string(kSync) + "duration_seconds", "SyncProxyRules latency in seconds",
                                SyncBuckets(), Of(family))),
      full_sync(metrics.GetHistogram("kubeproxy_sync_full_proxy_rules_duration_seconds",
                                     "SyncProxyRules latency in seconds for full resyncs", SyncBuckets(),
                                     Of(family))),
      partial_sync(metrics.GetHistogram("kubeproxy_sync_partial_proxy_rules_duration_seconds",
                                        "SyncProxyRules latency in seconds for partial resyncs",
                                        SyncBuckets(), Of(family))),
      programming(metrics.GetHistogram("kubeproxy_network_programming_duration_seconds",
                                       "In Cluster Network Programming Latency in seconds",
                                       ProgrammingBuckets(), Of(family))),
      conntrack_sync(metrics.GetHistogram("kubeproxy_conntrack_reconciler_sync_duration_seconds",
                                          "ReconcileConntrackFlowsLatency latency in seconds", SyncBuckets(),
                                          Of(family))),
      last_sync(metrics.GetGauge(std::string(kSync) + "last_timestamp_seconds",
                                 "The last time proxy rules were successfully synced", Of(family))),
      last_queued(metrics.GetGauge(std::string(kSync) + "last_queued_timestamp_seconds",
                                   "The last time a sync of proxy rules was queued", Of(family))),
      no_local_internal(metrics.GetGauge(std::string(kSync) + "no_local_endpoints_total",
                                         "Number of services with a Local traffic policy and no endpoints",
                                         PolicyOf(family, "internal"))),
      no_local_external(metrics.GetGauge(std::string(kSync) + "no_local_endpoints_total",
                                         "Number of services with a Local traffic policy and no endpoints",
                                         PolicyOf(family, "external"))),
      sync_failures(metrics.GetCounter(std::string(kSync) + "nftables_sync_failures_total",
                                       "Cumulative proxy nftables sync failures", Of(family))),
      cleanup_failures(metrics.GetCounter(std::string(kSync) + "nftables_cleanup_failures_total",
                                          "Cumulative proxy nftables cleanup failures", Of(family))),
      conntrack_deleted(metrics.GetCounter("kubeproxy_conntrack_reconciler_deleted_entries_total",
                                           "Cumulative conntrack flows deleted by conntrack reconciler",
                                           Of(family))) {}

ProxyChangeMetrics::ProxyChangeMetrics(Metrics& metrics)
    : endpoint_changes(metrics.GetCounter(std::string(kSync) + "endpoint_changes_total",
                                          "Cumulative proxy rules Endpoint changes")),
      service_changes(metrics.GetCounter(std::string(kSync) + "service_changes_total",
                                         "Cumulative proxy rules Service changes")),
      endpoint_pending(metrics.GetGauge(std::string(kSync) + "endpoint_changes_pending",
                                        "Pending proxy rules Endpoint changes")),
      service_pending(metrics.GetGauge(std::string(kSync) + "service_changes_pending",
                                       "Pending proxy rules Service changes")) {}

}  // namespace flyball::network
