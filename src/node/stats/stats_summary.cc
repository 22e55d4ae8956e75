#include "api/values/time.h"
#include "node/stats/stats_documents.h"

namespace flyball::node {
namespace {

json::Value Count(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

json::Value CpuJson(const ResourceUsage& usage) {
  return json::Object{{"time", api::FormatTime(usage.at)}, {"usageCoreNanoSeconds", Count(usage.cpu_nanos)}};
}

json::Object MemoryJson(const ResourceUsage& usage) {
  return {{"time", api::FormatTime(usage.at)},           {"usageBytes", Count(usage.memory)},
          {"workingSetBytes", Count(usage.working_set)}, {"rssBytes", Count(usage.rss)},
          {"pageFaults", Count(usage.page_faults)},      {"majorPageFaults", Count(usage.major_page_faults)}};
}

json::Value DiskJson(const DiskUsage& disk) {
  return json::Object{{"time", api::FormatTime(disk.at)},      {"availableBytes", Count(disk.available)},
                      {"capacityBytes", Count(disk.capacity)}, {"usedBytes", Count(disk.used)},
                      {"inodesFree", Count(disk.inodes_free)}, {"inodes", Count(disk.inodes)},
                      {"inodesUsed", Count(disk.inodes_used)}};
}

// Available is what its limit leaves.
json::Value ContainerJson(const ContainerStats& container) {
  json::Object memory = MemoryJson(container.usage);
  const auto limit = static_cast<std::uint64_t>(container.memory_limit);
  if (limit > container.usage.working_set)
    memory.Set("availableBytes", Count(limit - container.usage.working_set));
  json::Object out{{"name", container.name},
                   {"startTime", api::FormatTime(container.started_at)},
                   {"cpu", CpuJson(container.usage)},
                   {"memory", std::move(memory)}};
  if (container.writable_bytes)
    out.Set("rootfs", json::Object{{"usedBytes", Count(*container.writable_bytes)}});
  if (container.log_bytes) out.Set("logs", json::Object{{"usedBytes", Count(*container.log_bytes)}});
  return out;
}

// Nothing if it was not counted.
std::optional<std::uint64_t> EphemeralBytes(const PodStats& pod) {
  std::optional<std::uint64_t> sum;
  const auto add = [&](std::uint64_t bytes) { sum = sum.value_or(0) + bytes; };
  for (const auto& [name, bytes] : pod.volume_bytes) add(bytes);
  for (const ContainerStats& container : pod.containers)
    for (const auto& bytes : {container.writable_bytes, container.log_bytes})
      if (bytes) add(*bytes);
  return sum;
}

json::Value PodJson(const PodStats& pod, bool cpu_and_memory_only) {
  json::Array containers;
  for (const ContainerStats& container : pod.containers) containers.push_back(ContainerJson(container));
  json::Object out{{"podRef", json::Object{{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
                   {"startTime", api::FormatTime(pod.started_at)},
                   {"containers", std::move(containers)}};
  if (pod.usage) {
    out.Set("cpu", CpuJson(*pod.usage));
    out.Set("memory", MemoryJson(*pod.usage));
  }
  if (cpu_and_memory_only) return out;
  if (pod.usage) out.Set("process_stats", json::Object{{"process_count", Count(pod.usage->processes)}});
  json::Array volumes;
  for (const auto& [name, bytes] : pod.volume_bytes)
    volumes.push_back(json::Object{{"name", name}, {"usedBytes", Count(bytes)}});
  if (!volumes.empty()) out.Set("volume", std::move(volumes));
  if (const auto bytes = EphemeralBytes(pod))
    out.Set("ephemeral-storage", json::Object{{"usedBytes", Count(*bytes)}});
  return out;
}

}  // namespace

json::Value StatsSummary(const NodeStats& stats, bool cpu_and_memory_only) {
  json::Object node{{"nodeName", stats.name}, {"startTime", api::FormatTime(stats.started_at)}};
  if (stats.usage) {
    node.Set("cpu", CpuJson(*stats.usage));
    json::Object memory = MemoryJson(*stats.usage);
    memory.Set("availableBytes", Count(stats.memory_available));
    node.Set("memory", std::move(memory));
    if (!cpu_and_memory_only)
      node.Set("rlimit", json::Object{{"time", api::FormatTime(stats.usage->at)},
                                      {"maxpid", Count(stats.max_processes)},
                                      {"curproc", Count(stats.processes)}});
  }
  if (stats.disk && !cpu_and_memory_only) {
    node.Set("fs", DiskJson(*stats.disk));
    node.Set("runtime", json::Object{{"imageFs", DiskJson(stats.images ? *stats.images : *stats.disk)}});
  }
  json::Array pods;
  for (const PodStats& pod : stats.pods) pods.push_back(PodJson(pod, cpu_and_memory_only));
  return json::Object{{"node", std::move(node)}, {"pods", std::move(pods)}};
}

}  // namespace flyball::node
