// What the agent says of what is used on its node.
#include "node/agent/node_agent_core.h"
#include "node/eviction/eviction_decision.h"
#include "node/stats/cgroup_usage.h"
#include "node/stats/machine_usage.h"

namespace flyball::node {
namespace {

// The pod's own cgroup says more than its containers do: also what those that have ended have used.
void AddPodUsage(PodStats& pod, TimePoint now) {
  if (!pod.cgroup.empty()) pod.usage = ReadCgroupUsage(pod.cgroup, now);
  if (pod.usage) return;
  pod.cgroup.clear();
  for (const ContainerStats& container : pod.containers) {
    if (!pod.usage) pod.usage.emplace();
    *pod.usage += container.usage;
  }
}

void FillUsage(NodeStats& stats, const std::map<std::string, ResourceUsage>& usage, TimePoint now) {
  for (PodStats& pod : stats.pods) {
    std::erase_if(pod.containers,
                  [&](const ContainerStats& container) { return !usage.contains(container.id); });
    for (ContainerStats& container : pod.containers) container.usage = usage.at(container.id);
    AddPodUsage(pod, now);
  }
  std::erase_if(stats.pods, [](const PodStats& pod) { return pod.containers.empty(); });
}

// What these pods have written to the disk.
void AddDisk(NodeStats& stats, const std::map<std::string, std::shared_ptr<const Pod>>& pods,
             ContainerRuntime& runtime, const PodVolumes* volumes) {
  for (PodStats& pod : stats.pods) {
    const auto known = pods.find(pod.uid);
    if (known == pods.end()) continue;
    if (volumes) pod.volume_bytes = volumes->EmptyDirBytes(*known->second);
    for (ContainerStats& container : pod.containers) {
      const auto folders = runtime.WrittenBy(container.id);
      if (!folders.files.empty()) container.writable_bytes = FolderBytes(folders.files);
      if (!folders.logs.empty()) container.log_bytes = FolderBytes(folders.logs);
    }
  }
}

// A simulated node uses what its pods do, of what it says it has.
void AddSimulatedMachine(NodeStats& stats, const ResourceList& capacity, TimePoint now) {
  stats.usage = ResourceUsage{.at = now};
  for (const PodStats& pod : stats.pods)
    if (pod.usage) *stats.usage += *pod.usage;
  const auto amount = [&](const char* name) {
    const auto found = capacity.find(name);
    return found == capacity.end() ? 0 : found->second.Value();
  };
  stats.cpus = amount("cpu");
  stats.memory_capacity = static_cast<std::uint64_t>(amount("memory"));
  const std::uint64_t used = stats.usage->working_set;
  stats.memory_available = stats.memory_capacity > used ? stats.memory_capacity - used : 0;
}

}  // namespace

void NodeAgent::Core::ReadStats(StatsDetail detail, std::function<void(const NodeStats&)> done) {
  OnStrand([detail, done = std::move(done)](Core& self) {
    auto stats = std::make_shared<NodeStats>();
    stats->name = self.options_.name;
    stats->started_at = self.ready_since_.ToTimePoint();
    std::vector<UsageQuery> queries;
    std::map<std::string, PodPtr> pods;
    for (const auto& [uid, worker] : self.workers_) {
      if (detail == StatsDetail::kMachine) break;
      stats->pods.push_back(worker->Running(queries));
      if (detail == StatsDetail::kAll || (detail == StatsDetail::kLimited && HasDiskLimits(worker->pod())))
        pods[uid] = worker->pod_ptr();
    }
    const auto read = [stats, queries, pods, done, &runtime = self.runtime_, context = self.context_,
                       options = self.options_] {
      const TimePoint now = context->strand.clock().Now();
      FillUsage(*stats, runtime.UsageOf(queries, now), now);
      AddDisk(*stats, pods, runtime, context->volumes.get());
      if (runtime.real())
        ReadMachineUsage(*stats, now);
      else
        AddSimulatedMachine(*stats, options.capacity, now);
      if (!options.data_dir.empty()) stats->disk = ReadDiskUsage(options.data_dir, now);
      if (options.read_machine) options.read_machine(*stats);
      done(*stats);
    };
    if (Executor* const where = self.runtime_.executor())
      where->Post(read);
    else
      read();
  });
}

void NodeAgent::Core::ListPods(std::function<void(json::Value)> done) {
  OnStrand([done = std::move(done)](Core& self) {
    json::Array items;
    for (const auto& [uid, worker] : self.workers_) items.push_back(ToJson(worker->pod()));
    done(json::Object{{"kind", "PodList"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object{}},
                      {"items", std::move(items)}});
  });
}

}  // namespace flyball::node
