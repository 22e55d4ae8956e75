#include <charconv>
#include <functional>

#include "node/stats/stats_documents.h"

namespace flyball::node {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

constexpr double kNanos = 1e9;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::int64_t EpochMillis(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

double EpochSeconds(TimePoint at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

// Writes series of one family after the other.
class MetricsText {
 public:
  void Family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }
  // Without a time: as of now.
  void Sample(const Labels& labels, double value, TimePoint at = {}) {
    text_ += name_;
    for (std::size_t i = 0; i < labels.size(); ++i)
      text_ += (i == 0 ? "{" : ",") + std::string(labels[i].first) + "=\"" + Escaped(labels[i].second) + "\"";
    if (!labels.empty()) text_ += "}";
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    text_ += " " + std::string(digits, end.ptr);
    if (at != TimePoint{}) text_ += " " + std::to_string(EpochMillis(at));
    text_ += "\n";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

using ContainerFn = std::function<void(const PodStats& pod, const ContainerStats& container)>;

void ForEachContainer(const NodeStats& stats, const ContainerFn& fn) {
  for (const PodStats& pod : stats.pods)
    for (const ContainerStats& container : pod.containers) fn(pod, container);
}

Labels ResourceLabels(const PodStats& pod, const ContainerStats& container) {
  return {{"container", container.name}, {"namespace", pod.ns}, {"pod", pod.name}};
}

void AddContainerResources(MetricsText& text, const NodeStats& stats) {
  text.Family("container_cpu_usage_seconds_total", "counter",
              "[STABLE] Cumulative cpu time consumed by the container in core-seconds");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(ResourceLabels(pod, container), static_cast<double>(container.usage.cpu_nanos) / kNanos,
                container.usage.at);
  });
  text.Family("container_memory_working_set_bytes", "gauge",
              "[STABLE] Current working set of the container in bytes");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(ResourceLabels(pod, container), static_cast<double>(container.usage.working_set),
                container.usage.at);
  });
  text.Family("container_start_time_seconds", "gauge",
              "[STABLE] Start time of the container since unix epoch in seconds");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(ResourceLabels(pod, container), EpochSeconds(container.started_at));
  });
}

void AddNodeResources(MetricsText& text, const NodeStats& stats) {
  if (!stats.usage) return;
  text.Family("node_cpu_usage_seconds_total", "counter",
              "[STABLE] Cumulative cpu time consumed by the node in core-seconds");
  text.Sample({}, static_cast<double>(stats.usage->cpu_nanos) / kNanos, stats.usage->at);
  text.Family("node_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the node in bytes");
  text.Sample({}, static_cast<double>(stats.usage->working_set), stats.usage->at);
}

void AddPodResources(MetricsText& text, const NodeStats& stats) {
  text.Family("pod_cpu_usage_seconds_total", "counter",
              "[STABLE] Cumulative cpu time consumed by the pod in core-seconds");
  for (const PodStats& pod : stats.pods)
    if (pod.usage)
      text.Sample({{"namespace", pod.ns}, {"pod", pod.name}},
                  static_cast<double>(pod.usage->cpu_nanos) / kNanos, pod.usage->at);
  text.Family("pod_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the pod in bytes");
  for (const PodStats& pod : stats.pods)
    if (pod.usage)
      text.Sample({{"namespace", pod.ns}, {"pod", pod.name}}, static_cast<double>(pod.usage->working_set),
                  pod.usage->at);
}

// One of cAdvisor's series about containers.
struct CadvisorSeries {
  const char *name, *type, *help;
  double (*value)(const ResourceUsage& usage);
};

constexpr CadvisorSeries kCadvisorSeries[] = {
    {"container_cpu_cfs_periods_total", "counter", "Number of elapsed enforcement period intervals.",
     [](const ResourceUsage& u) { return static_cast<double>(u.periods); }},
    {"container_cpu_cfs_throttled_periods_total", "counter", "Number of throttled period intervals.",
     [](const ResourceUsage& u) { return static_cast<double>(u.throttled_periods); }},
    {"container_cpu_cfs_throttled_seconds_total", "counter",
     "Total time duration the container has been throttled.",
     [](const ResourceUsage& u) { return static_cast<double>(u.throttled_nanos) / kNanos; }},
    {"container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.",
     [](const ResourceUsage& u) { return static_cast<double>(u.cpu_nanos) / kNanos; }},
    {"container_memory_rss", "gauge", "Size of RSS in bytes.",
     [](const ResourceUsage& u) { return static_cast<double>(u.rss); }},
    {"container_memory_usage_bytes", "gauge",
     "Current memory usage in bytes, including all memory regardless of when it was accessed",
     [](const ResourceUsage& u) { return static_cast<double>(u.memory); }},
    {"container_memory_working_set_bytes", "gauge", "Current working set in bytes.",
     [](const ResourceUsage& u) { return static_cast<double>(u.working_set); }},
    {"container_processes", "gauge", "Number of processes running inside the container.",
     [](const ResourceUsage& u) { return static_cast<double>(u.processes); }},
};

Labels CadvisorLabels(const PodStats& pod, const ContainerStats& container) {
  return {{"container", container.name},
          {"id", pod.cgroup.empty() ? container.id : pod.cgroup + "/" + container.id},
          {"image", container.image},
          {"name", container.id},
          {"namespace", pod.ns},
          {"pod", pod.name}};
}

// Of the node, the pods and the containers, each a cgroup to cAdvisor.
void AddUsage(MetricsText& text, const NodeStats& stats, const CadvisorSeries& series) {
  text.Family(series.name, series.type, series.help);
  const bool cpu = std::string_view(series.name) == "container_cpu_usage_seconds_total";
  const auto add = [&](Labels labels, const ResourceUsage& usage) {
    if (cpu) labels.insert(labels.begin() + 1, {"cpu", "total"});
    text.Sample(labels, series.value(usage), usage.at);
  };
  const Labels none = {{"container", ""}, {"id", "/"},       {"image", ""},
                       {"name", ""},      {"namespace", ""}, {"pod", ""}};
  if (stats.usage) add(none, *stats.usage);
  for (const PodStats& pod : stats.pods)
    if (pod.usage)
      add({{"container", ""},
           {"id", pod.cgroup},
           {"image", ""},
           {"name", ""},
           {"namespace", pod.ns},
           {"pod", pod.name}},
          *pod.usage);
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    add(CadvisorLabels(pod, container), container.usage);
  });
}

// What the container was given, which does not change with time.
void AddSpec(MetricsText& text, const NodeStats& stats) {
  constexpr double kPeriod = 100'000;
  text.Family("container_spec_cpu_period", "gauge", "CPU period of the container.");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(CadvisorLabels(pod, container), kPeriod);
  });
  text.Family("container_spec_cpu_quota", "gauge", "CPU quota of the container.");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    if (container.cpu_limit_milli > 0)
      text.Sample(CadvisorLabels(pod, container),
                  static_cast<double>(container.cpu_limit_milli) * kPeriod / 1000);
  });
  text.Family("container_spec_memory_limit_bytes", "gauge", "Memory limit for the container.");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(CadvisorLabels(pod, container), static_cast<double>(container.memory_limit));
  });
  text.Family("container_start_time_seconds", "gauge",
              "Start time of the container since unix epoch in seconds.");
  ForEachContainer(stats, [&](const PodStats& pod, const ContainerStats& container) {
    text.Sample(CadvisorLabels(pod, container), EpochSeconds(container.started_at));
  });
}

}  // namespace

std::string ResourceMetricsText(const NodeStats& stats) {
  MetricsText text;
  AddContainerResources(text, stats);
  AddNodeResources(text, stats);
  AddPodResources(text, stats);
  const char* const help = "1 if there was an error while getting container metrics, 0 otherwise";
  for (const char* const name : {"resource_scrape_error", "scrape_error"}) {
    text.Family(name, "gauge", help);
    text.Sample({}, stats.usage ? 0 : 1);
  }
  return text.Take();
}

std::string CadvisorMetricsText(const NodeStats& stats) {
  MetricsText text;
  for (const CadvisorSeries& series : kCadvisorSeries) AddUsage(text, stats, series);
  AddSpec(text, stats);
  text.Family("machine_cpu_cores", "gauge", "Number of logical CPU cores.");
  text.Sample({{"node", stats.name}}, static_cast<double>(stats.cpus));
  text.Family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.");
  text.Sample({{"node", stats.name}}, static_cast<double>(stats.memory_capacity));
  return text.Take();
}

}  // namespace flyball::node
