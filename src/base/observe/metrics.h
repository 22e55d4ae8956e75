// Metrics: counters, gauges and histograms in the Prometheus text format. Where Kubernetes has the same
// metric, its name and labels are used. prometheus-cpp writes the exposition; only metrics.cc includes its
// headers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flyball {

using MetricLabels = std::map<std::string, std::string>;

// Handles stay valid as long as the Metrics object they came from. All methods are thread-safe, and wait-free
// after creation.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double n = 1) = 0;
  virtual double Value() const = 0;
};
class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double v) = 0;
  virtual void Add(double n) = 0;
  virtual double Value() const = 0;
};
class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double v) = 0;
};

// A registry. Requests for the same name and labels return the same handle. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  Counter& GetCounter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Gauge& GetGauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram& GetHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const MetricLabels& labels = {});

  // Calls fn before every scrape, as long as the returned handle lives. Use it for values that must be looked
  // up. fn must not use this registry's Get functions.
  [[nodiscard]] std::shared_ptr<void> BeforeReading(std::function<void()> fn);

  // Returns the text exposition of all metrics, format version 0.0.4.
  std::string Serialize() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flyball
