#include "cli/observe/metrics_text.h"

#include <cstdlib>
#include <limits>
#include <set>

#include "base/values/ascii.h"

namespace flyball::cli {
namespace {

// name="value",... up to the brace; the text after it is left in `text`.
std::map<std::string, std::string> TakeLabels(std::string_view& text) {
  std::map<std::string, std::string> labels;
  while (!text.empty() && text[0] != '}') {
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos) break;
    const std::string name(Trimmed(text.substr(0, equals)));
    text.remove_prefix(equals + 2);
    std::string value;
    std::size_t at = 0;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    labels[name] = value;
    text.remove_prefix(std::min(text.size(), at + 1));
    if (!text.empty() && text[0] == ',') text.remove_prefix(1);
  }
  if (!text.empty()) text.remove_prefix(1);
  return labels;
}

bool Counts(const Sample& sample, const std::string& label, const std::string& value) {
  return label.empty() || sample.Label(label) == value;
}

// How much fell below each bound.
std::map<double, double> Buckets(const MetricsPage& page, const std::string& histogram,
                                 const std::string& label, const std::string& value) {
  std::map<double, double> buckets;
  for (const Sample& sample : page.Of(histogram + "_bucket"))
    if (Counts(sample, label, value))
      buckets[sample.Label("le") == "+Inf" ? std::numeric_limits<double>::infinity()
                                           : std::atof(sample.Label("le").c_str())] += sample.value;
  return buckets;
}

}  // namespace

std::string Sample::Label(const std::string& name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

MetricsPage::MetricsPage(std::string_view text) {
  for (const std::string& line : SplitText(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    std::string_view rest = line;
    const std::size_t end = rest.find_first_of("{ ");
    if (end == std::string_view::npos) continue;
    const std::string name(rest.substr(0, end));
    const bool labelled = rest[end] == '{';
    rest.remove_prefix(end + 1);
    Sample sample;
    if (labelled) sample.labels = TakeLabels(rest);
    sample.value = std::atof(std::string(rest).c_str());
    samples_[name].push_back(std::move(sample));
  }
}

const std::vector<Sample>& MetricsPage::Of(const std::string& name) const {
  static const std::vector<Sample> kNone;
  const auto found = samples_.find(name);
  return found == samples_.end() ? kNone : found->second;
}

double MetricsPage::Sum(const std::string& name, const std::string& label, const std::string& value) const {
  double sum = 0;
  for (const Sample& sample : Of(name))
    if (Counts(sample, label, value)) sum += sample.value;
  return sum;
}

std::vector<std::string> MetricsPage::Values(const std::string& name, const std::string& label) const {
  std::set<std::string> values;
  for (const Sample& sample : Of(name)) values.insert(sample.Label(label));
  return {values.begin(), values.end()};
}

double QuantileBetween(const MetricsPage& before, const MetricsPage& after, const std::string& histogram,
                       double quantile, const std::string& label, const std::string& value) {
  const auto old = Buckets(before, histogram, label, value);
  auto counted = Buckets(after, histogram, label, value);
  for (auto& [bound, count] : counted)
    if (const auto found = old.find(bound); found != old.end()) count -= found->second;
  if (counted.empty() || counted.rbegin()->second <= 0) return 0;
  const double wanted = quantile * counted.rbegin()->second;
  double largest = 0;
  for (const auto& [bound, count] : counted) {
    if (bound != std::numeric_limits<double>::infinity()) largest = bound;
    if (count >= wanted) return largest;
  }
  return largest;
}

}  // namespace flyball::cli
