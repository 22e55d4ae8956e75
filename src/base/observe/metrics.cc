#include "base/observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <tuple>

#include "base/run/mutex.h"

namespace flyball {
namespace {

class PromCounter final : public Counter {
 public:
  explicit PromCounter(prometheus::Counter& c) : c_(c) {}
  void Add(double n) override { c_.Increment(n); }
  double Value() const override { return c_.Value(); }

 private:
  prometheus::Counter& c_;
};

class PromGauge final : public Gauge {
 public:
  explicit PromGauge(prometheus::Gauge& g) : g_(g) {}
  void Set(double v) override { g_.Set(v); }
  void Add(double n) override { g_.Increment(n); }
  double Value() const override { return g_.Value(); }

 private:
  prometheus::Gauge& g_;
};

class PromHistogram final : public Histogram {
 public:
  explicit PromHistogram(prometheus::Histogram& h) : h_(h) {}
  void Observe(double v) override { h_.Observe(v); }

 private:
  prometheus::Histogram& h_;
};

using Key = std::pair<std::string, MetricLabels>;

}  // namespace

struct Metrics::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  Mutex mu;
  std::map<Key, std::unique_ptr<Counter>> counters FLYBALL_GUARDED_BY(mu);
  std::map<Key, std::unique_ptr<Gauge>> gauges FLYBALL_GUARDED_BY(mu);
  std::map<Key, std::unique_ptr<Histogram>> histograms FLYBALL_GUARDED_BY(mu);
  std::vector<std::weak_ptr<std::function<void()>>> before_reading FLYBALL_GUARDED_BY(mu);
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::GetCounter(const std::string& name, const std::string& help, const MetricLabels& labels) {
  MutexLock lock(state_->mu);
  auto& slot = state_->counters[{name, labels}];
  if (!slot)
    slot = std::make_unique<PromCounter>(
        prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry).Add(labels));
  return *slot;
}

Gauge& Metrics::GetGauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  MutexLock lock(state_->mu);
  auto& slot = state_->gauges[{name, labels}];
  if (!slot)
    slot = std::make_unique<PromGauge>(
        prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry).Add(labels));
  return *slot;
}

Histogram& Metrics::GetHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const MetricLabels& labels) {
  MutexLock lock(state_->mu);
  auto& slot = state_->histograms[{name, labels}];
  if (!slot)
    slot = std::make_unique<PromHistogram>(
        prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry).Add(labels, buckets));
  return *slot;
}

std::shared_ptr<void> Metrics::BeforeReading(std::function<void()> fn) {
  auto handle = std::make_shared<std::function<void()>>(std::move(fn));
  MutexLock lock(state_->mu);
  std::erase_if(state_->before_reading, [](const auto& known) { return known.expired(); });
  state_->before_reading.push_back(handle);
  return handle;
}

std::string Metrics::Serialize() const {
  std::vector<std::weak_ptr<std::function<void()>>> refreshers;
  {
    MutexLock lock(state_->mu);
    refreshers = state_->before_reading;
  }
  for (const auto& weak : refreshers)
    if (const auto fn = weak.lock()) (*fn)();
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace flyball
