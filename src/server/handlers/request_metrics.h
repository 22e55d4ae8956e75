// RequestMetrics: how many requests of which kind ended how, and how long they took, under kube-apiserver's
// names. The number of series is bounded by what is served: a client cannot invent label values.
#pragma once

#include <string>
#include <unordered_map>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Thread-safe.
class RequestMetrics {
 public:
  explicit RequestMetrics(Metrics& metrics) : metrics_(metrics) {}

  // Once a request, when its answer is known (watches: when they end).
  void Record(const RequestScope& scope, int code, Duration took);

 private:
  struct Series {
    Counter* total;
    Histogram* seconds;
  };
  Series Make(const RequestScope& scope, int code);

  Metrics& metrics_;
  Mutex mu_;
  std::unordered_map<std::string, Series> series_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
