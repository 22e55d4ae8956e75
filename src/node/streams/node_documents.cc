#include "node/streams/node_documents.h"

#include <functional>
#include <string>

#include "json/json.h"
#include "node/stats/stats_documents.h"

namespace flyball::node {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kJsonType[] = "application/json";

using StreamPtr = std::shared_ptr<net::ResponseStream>;

void SendStats(PodSource& source, StatsDetail detail, const StreamPtr& stream, const char* type,
               std::function<std::string(const NodeStats&)> write) {
  source.ReadStats(detail, [stream, type, write = std::move(write)](const NodeStats& stats) {
    stream->Send(200, {{"content-type", type}}, write(stats));
  });
}

std::string OwnMetricsText(const NodeStats& stats) {
  std::size_t containers = 0;
  for (const PodStats& pod : stats.pods) containers += pod.containers.size();
  return "# HELP kubelet_node_name The node's name. The count is always 1.\n# TYPE kubelet_node_name gauge\n"
         "kubelet_node_name{node=\"" +
         stats.name +
         "\"} 1\n# HELP kubelet_running_containers Number of containers currently running\n"
         "# TYPE kubelet_running_containers gauge\nkubelet_running_containers{container_state=\"running\"} " +
         std::to_string(containers) +
         "\n# HELP kubelet_running_pods Number of pods that have a running pod sandbox\n"
         "# TYPE kubelet_running_pods gauge\nkubelet_running_pods " +
         std::to_string(stats.pods.size()) + "\n";
}

}  // namespace

bool ServeNodeDocument(const NodeRequest& asked, PodSource& source, const StreamPtr& stream,
                       Metrics* metrics) {
  std::string path;
  for (const std::string& segment : asked.path()) path += "/" + segment;
  if (path == "/pods") {
    source.ListPods([stream](const json::Value& list) {
      stream->Send(200, {{"content-type", kJsonType}}, json::Write(list));
    });
  } else if (path == "/stats/summary") {
    const bool only = asked.Is("only_cpu_and_memory");
    SendStats(source, only ? StatsDetail::kUse : StatsDetail::kAll, stream, kJsonType,
              [only](const NodeStats& stats) { return json::Write(StatsSummary(stats, only)); });
  } else if (path == "/metrics") {
    SendStats(source, StatsDetail::kUse, stream, kMetricsType, [metrics](const NodeStats& stats) {
      return OwnMetricsText(stats) + (metrics ? metrics->Serialize() : "");
    });
  } else if (path == "/metrics/resource") {
    SendStats(source, StatsDetail::kUse, stream, kMetricsType, &ResourceMetricsText);
  } else if (path == "/metrics/cadvisor") {
    SendStats(source, StatsDetail::kUse, stream, kMetricsType, &CadvisorMetricsText);
  } else {
    return false;
  }
  return true;
}

}  // namespace flyball::node
