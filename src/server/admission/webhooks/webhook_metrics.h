// WebhookMetrics: how calls of admission webhooks went, under kube-apiserver's names.
#pragma once

#include <string>
#include <string_view>

#include "base/observe/metrics.h"
#include "base/run/clock.h"

namespace flyball::server {

// Thread-safe. Series are as many as webhooks are configured, times operations and codes.
class WebhookMetrics {
 public:
  // type: "admit" or "validating".
  WebhookMetrics(Metrics& metrics, std::string type) : metrics_(metrics), type_(std::move(type)) {}

  void ObserveCall(const std::string& name, std::string_view operation, Duration took, bool rejected,
                   int code) const;
  // error_type: "calling_webhook_error", "apiserver_internal_error" or "no_error".
  void ObserveRejection(const std::string& name, std::string_view operation, const std::string& error_type,
                        int code) const;
  void ObserveFailOpen(const std::string& name) const;

 private:
  Metrics& metrics_;
  const std::string type_;
};

}  // namespace flyball::server
