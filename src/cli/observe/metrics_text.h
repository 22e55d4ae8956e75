// The numbers of a /metrics page: the text format of Prometheus.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::cli {

struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
  // The value of a label; "" without it.
  std::string Label(const std::string& name) const;
};

// Samples by name: a histogram's are under NAME_bucket, NAME_sum and NAME_count. A value.
class MetricsPage {
 public:
  MetricsPage() = default;
  // Lines that are none of the format are left out.
  explicit MetricsPage(std::string_view text);

  const std::vector<Sample>& Of(const std::string& name) const;
  // The sum of those whose label has the value; of all without a label.
  double Sum(const std::string& name, const std::string& label = {}, const std::string& value = {}) const;
  // The values that a label has, in order.
  std::vector<std::string> Values(const std::string& name, const std::string& label) const;

 private:
  std::map<std::string, std::vector<Sample>> samples_;
};

// The quantile of what a histogram counted between two pages, from its buckets: the upper end of the bucket
// in which it lies; 0 if nothing was counted. Only samples whose label has the value count, if a label is
// given.
double QuantileBetween(const MetricsPage& before, const MetricsPage& after, const std::string& histogram,
                       double quantile, const std::string& label = {}, const std::string& value = {});

}  // namespace flyball::cli
