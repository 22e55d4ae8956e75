#include "server/admission/webhooks/webhook_metrics.h"

#include <algorithm>

namespace flyball::server {
namespace {

// Codes are other people's: what is beyond is counted as one.
std::string BoundedCode(int code) {
  constexpr int kMostCode = 600;
  return std::to_string(std::clamp(code, 0, kMostCode));
}

}  // namespace

void WebhookMetrics::ObserveCall(const std::string& name, std::string_view operation, Duration took,
                                 bool rejected, int code) const {
  MetricLabels labels{{"name", name},
                      {"type", type_},
                      {"operation", std::string(operation)},
                      {"rejected", rejected ? "true" : "false"}};
  metrics_
      .GetHistogram(
          "apiserver_admission_webhook_admission_duration_seconds",
          "Admission webhook latency histogram in seconds, identified by name and broken out for each "
          "operation and API resource and type (validate or admit).",
          {0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25}, labels)
      .Observe(std::chrono::duration<double>(took).count());
  labels["code"] = BoundedCode(code);
  metrics_
      .GetCounter(
          "apiserver_admission_webhook_request_total",
          "Admission webhook request total, identified by name and broken out for each admission type "
          "(validating or admit) and operation. Additional labels specify whether the request was rejected "
          "or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics "
          "cardinality bounded.",
          labels)
      .Add();
}

void WebhookMetrics::ObserveRejection(const std::string& name, std::string_view operation,
                                      const std::string& error_type, int code) const {
  metrics_
      .GetCounter(
          "apiserver_admission_webhook_rejection_count",
          "Admission webhook rejection count, identified by name and broken out for each admission type "
          "(validating or admit) and operation. Additional labels specify an error type "
          "(calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and "
          "optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code "
          "(honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are "
          "truncated to 600, to keep the metrics cardinality bounded.",
          {{"name", name},
           {"type", type_},
           {"operation", std::string(operation)},
           {"error_type", error_type},
           {"rejection_code", BoundedCode(code)}})
      .Add();
}

void WebhookMetrics::ObserveFailOpen(const std::string& name) const {
  metrics_
      .GetCounter(
          "apiserver_admission_webhook_fail_open_count",
          "Admission webhook fail open count, identified by name and broken out for each admission type "
          "(validating or admit).",
          {{"name", name}, {"type", type_}})
      .Add();
}

}  // namespace flyball::server
