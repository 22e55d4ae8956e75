#include "metrics/usage_samples.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace flyball::metrics {
namespace {

// A line of the Prometheus text format: name{label="value",...} number milliseconds.
struct MetricLine {
  std::string_view name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
  std::optional<TimePoint> at;
};

// Takes `name="value"` off the front.
bool TakeLabel(std::string_view& text, MetricLine& line) {
  const std::size_t equals = text.find("=\"");
  if (equals == std::string_view::npos) return false;
  const std::string name(text.substr(0, equals));
  std::string value;
  std::size_t at = equals + 2;
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  if (at >= text.size()) return false;
  line.labels[name] = std::move(value);
  text.remove_prefix(at + 1);
  if (text.starts_with(",")) text.remove_prefix(1);
  return true;
}

// What a node says may be anything; no number of a machine is beyond these.
constexpr double kMostValue = 9e15, kMostSeconds = 4e9;

double Within(double value, double most) {
  return value >= 0 ? std::min(value, most) : 0;  // not a number is nothing
}

TimePoint AtSeconds(double seconds) {
  const std::chrono::duration<double> since(Within(seconds, kMostSeconds));
  return TimePoint(std::chrono::duration_cast<TimePoint::duration>(since));
}

// Whole, as a double of seconds since 1970 is some hundred nanoseconds off.
TimePoint AtMilliseconds(std::int64_t milliseconds) {
  constexpr auto kMost = static_cast<std::int64_t>(kMostSeconds) * 1000;
  return TimePoint(std::chrono::milliseconds(std::clamp<std::int64_t>(milliseconds, 0, kMost)));
}

template <typename T>
bool TakeNumber(std::string_view& text, T& number) {
  while (text.starts_with(" ")) text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return problem == std::errc();
}

std::optional<MetricLine> ParseMetricLine(std::string_view text) {
  MetricLine line;
  const std::size_t end = text.find_first_of("{ ");
  if (text.empty() || text[0] == '#' || end == std::string_view::npos) return std::nullopt;
  line.name = text.substr(0, end);
  text.remove_prefix(end);
  if (text.starts_with("{")) {
    text.remove_prefix(1);
    while (!text.empty() && text[0] != '}')
      if (!TakeLabel(text, line)) return std::nullopt;
    if (text.empty()) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!TakeNumber(text, line.value)) return std::nullopt;
  line.value = Within(line.value, kMostValue);
  if (std::int64_t milliseconds = 0; TakeNumber(text, milliseconds)) line.at = AtMilliseconds(milliseconds);
  return line;
}

void TakeNodeLine(const MetricLine& line, NodeSample& sample, TimePoint now) {
  const bool cpu = line.name == "node_cpu_usage_seconds_total";
  if (!cpu && line.name != "node_memory_working_set_bytes") return;
  if (!sample.node) sample.node.emplace();
  if (cpu) {
    sample.node->cpu_seconds = line.value;
    sample.node->at = line.at.value_or(now);
  } else {
    sample.node->memory = static_cast<std::int64_t>(line.value);
  }
}

void TakeContainerLine(const MetricLine& line, NodeSample& sample, TimePoint now) {
  const auto label = [&](std::string_view name) {
    const auto found = line.labels.find(name);
    return found == line.labels.end() ? std::string() : found->second;
  };
  const ContainerKey key{label("namespace"), label("pod"), label("container")};
  if (key.pod.empty() || key.container.empty()) return;
  UsagePoint& point = sample.containers[key];
  if (line.name == "container_cpu_usage_seconds_total") {
    point.cpu_seconds = line.value;
    point.at = line.at.value_or(now);
  } else if (line.name == "container_memory_working_set_bytes") {
    point.memory = static_cast<std::int64_t>(line.value);
  } else if (line.name == "container_start_time_seconds") {
    point.started_at = AtSeconds(line.value);
  }
}

}  // namespace

NodeSample ParseResourceMetrics(std::string_view text, TimePoint now) {
  NodeSample sample;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto line = ParseMetricLine(text.substr(0, end))) {
      TakeNodeLine(*line, sample, now);
      if (line->name.starts_with("container_")) TakeContainerLine(*line, sample, now);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // One without processor time was not measured.
  std::erase_if(sample.containers, [](const auto& entry) { return entry.second.at == TimePoint{}; });
  return sample;
}

UsageSamples::Series UsageSamples::Next(const Series* known, const UsagePoint& point, bool soon) {
  const bool goes_on =
      known && point.started_at <= known->last.at && point.cpu_seconds >= known->last.cpu_seconds;
  if (goes_on && point.at <= known->last.at) return *known;
  if (goes_on) return {soon && known->before ? known->before : known->last, point};
  Series fresh{std::nullopt, point};
  if (point.started_at != TimePoint{} && point.at - point.started_at >= kFreshContainer)
    fresh.before = UsagePoint{.at = point.started_at, .started_at = point.started_at};
  return fresh;
}

void UsageSamples::Add(const NodeSample& sample, bool soon) {
  if (!sample.node) return;
  node_ = Next(node_ ? &*node_ : nullptr, *sample.node, soon);
  std::map<ContainerKey, Series> next;
  for (const auto& [key, point] : sample.containers) {
    const auto known = containers_.find(key);
    next[key] = Next(known == containers_.end() ? nullptr : &known->second, point, soon);
  }
  containers_ = std::move(next);
  last_ = sample.node->at;
}

bool UsageSamples::incomplete() const {
  if (node_ && !node_->before) return true;
  for (const auto& [key, series] : containers_)
    if (!series.before) return true;
  return false;
}

std::optional<MeasuredUsage> UsageSamples::Measure(const Series& series) {
  if (!series.before || series.last.at <= series.before->at) return std::nullopt;
  const Duration window = series.last.at - series.before->at;
  const double seconds = std::chrono::duration<double>(window).count();
  return MeasuredUsage{.at = series.last.at,
                       .window = window,
                       .cpu_nanos = static_cast<std::int64_t>(
                           (series.last.cpu_seconds - series.before->cpu_seconds) / seconds * 1e9),
                       .memory = series.last.memory};
}

std::optional<MeasuredUsage> UsageSamples::Node() const {
  return node_ ? Measure(*node_) : std::nullopt;
}

std::optional<std::map<std::string, MeasuredUsage>> UsageSamples::Pod(std::string_view ns,
                                                                      std::string_view name) const {
  std::map<std::string, MeasuredUsage> all;
  const ContainerKey first{std::string(ns), std::string(name), ""};
  for (auto at = containers_.lower_bound(first);
       at != containers_.end() && at->first.ns == ns && at->first.pod == name; ++at) {
    const auto usage = Measure(at->second);
    if (!usage) return std::nullopt;
    all[at->first.container] = *usage;
  }
  if (all.empty()) return std::nullopt;
  return all;
}

}  // namespace flyball::metrics
