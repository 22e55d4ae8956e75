#include "node/eviction/eviction_decision.h"

#include <algorithm>

#include "api/select/matching.h"

namespace flyball::node {
namespace {

// Upstream: scheduling.SystemCriticalPriority.
constexpr std::int32_t kSystemCritical = 2'000'000'000;
constexpr char kStorage[] = "ephemeral-storage";

std::int64_t Listed(const std::map<std::string, api::Quantity>& list, const std::string& name) {
  const auto found = list.find(name);
  return found == list.end() ? 0 : found->second.Value();
}

api::Quantity Bytes(std::uint64_t bytes) {
  return api::Quantity(static_cast<std::int64_t>(bytes), 0, api::Quantity::Format::kBinarySI);
}

// Of all containers and sidecars; the pod's own if it says.
std::int64_t PodAmount(const Pod& pod, const std::string& resource, bool limits) {
  const auto of = [&](const ResourceRequirements& resources) {
    return Listed(limits ? resources.limits : resources.requests, resource);
  };
  if (pod.spec.resources)
    if (const std::int64_t own = of(*pod.spec.resources)) return own;
  std::int64_t sum = 0;
  for (const Container& container : pod.spec.containers) sum += of(container.resources);
  for (const Container& container : pod.spec.init_containers)
    if (container.restart_policy == "Always") sum += of(container.resources);
  return sum;
}

std::uint64_t DiskOf(const ContainerStats& container) {
  return container.writable_bytes.value_or(0) + container.log_bytes.value_or(0);
}

std::uint64_t PodDisk(const PodStats& stats) {
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : stats.volume_bytes) sum += bytes;
  for (const ContainerStats& container : stats.containers) sum += DiskOf(container);
  return sum;
}

std::int64_t UsedOf(const PodStats& stats, const std::string& resource) {
  if (resource == "memory") return stats.usage ? static_cast<std::int64_t>(stats.usage->working_set) : 0;
  if (resource == kStorage) return static_cast<std::int64_t>(PodDisk(stats));
  return stats.usage ? static_cast<std::int64_t>(stats.usage->processes) : 0;
}

// The order in which they go. Without requests for processes and inodes, those never exceed any.
void RankPods(const std::string& resource, std::vector<EvictionCandidate>& pods) {
  const bool counts = resource == "memory" || resource == kStorage;
  const auto above = [&](const EvictionCandidate& candidate) {
    return UsedOf(candidate.stats, resource) - (counts ? PodAmount(*candidate.pod, resource, false) : 0);
  };
  std::stable_sort(pods.begin(), pods.end(), [&](const EvictionCandidate& a, const EvictionCandidate& b) {
    const bool a_exceeds = counts && above(a) > 0, b_exceeds = counts && above(b) > 0;
    if (a_exceeds != b_exceeds) return a_exceeds;
    const int a_priority = a.pod->spec.priority.value_or(0), b_priority = b.pod->spec.priority.value_or(0);
    if (a_priority != b_priority) return a_priority < b_priority;
    return above(a) > above(b);
  });
}

const Container* FindContainer(const Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers})
    for (const Container& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

// Upstream: evictionMessage.
std::string PressureMessage(const EvictionThreshold& threshold, const SignalObservation& observed,
                            const EvictionCandidate& candidate) {
  const std::string resource = ResourceOfSignal(threshold.signal);
  std::string message = "The node was low on resource: " + resource + ". Threshold quantity: " +
                        ThresholdQuantity(threshold, observed.capacity).ToString() +
                        ", available: " + observed.available.ToString() + ". ";
  for (const ContainerStats& stats : candidate.stats.containers) {
    const Container* const container = FindContainer(*candidate.pod, stats.name);
    if (!container || (resource != "memory" && resource != kStorage)) continue;
    const api::Quantity used = Bytes(resource == "memory" ? stats.usage.working_set : DiskOf(stats));
    const auto request = container->resources.requests.find(resource);
    const api::Quantity wanted =
        request == container->resources.requests.end() ? api::Quantity() : request->second;
    if (used > wanted)
      message += "Container " + stats.name + " was using " + used.ToString() + ", request is " +
                 wanted.ToString() + ", has larger consumption of " + resource + ". ";
  }
  return message;
}

std::optional<std::string> OverLimit(const EvictionCandidate& candidate) {
  const Pod& pod = *candidate.pod;
  for (const Volume& volume : pod.spec.volumes) {
    if (!volume.empty_dir || volume.empty_dir->medium == "Memory" || !volume.empty_dir->size_limit) continue;
    const auto used = candidate.stats.volume_bytes.find(volume.name);
    const api::Quantity& limit = *volume.empty_dir->size_limit;
    if (used != candidate.stats.volume_bytes.end() && limit.Sign() > 0 && Bytes(used->second) > limit)
      return "Usage of EmptyDir volume \"" + volume.name + "\" exceeds the limit \"" + limit.ToString() +
             "\". ";
  }
  const std::int64_t total = PodAmount(pod, kStorage, true);
  if (total > 0 && static_cast<std::int64_t>(PodDisk(candidate.stats)) > total)
    return "Pod ephemeral local storage usage exceeds the total limit of containers " +
           Bytes(static_cast<std::uint64_t>(total)).ToString() + ". ";
  for (const ContainerStats& stats : candidate.stats.containers) {
    const Container* const container = FindContainer(pod, stats.name);
    if (!container) continue;
    const auto limit = container->resources.limits.find(kStorage);
    if (limit != container->resources.limits.end() && Bytes(DiskOf(stats)) > limit->second)
      return "Container " + stats.name + " exceeded its local ephemeral storage limit \"" +
             limit->second.ToString() + "\". ";
  }
  return std::nullopt;
}

}  // namespace

bool IsCriticalPod(const Pod& pod) {
  if (pod.spec.priority.value_or(0) >= kSystemCritical) return true;
  const auto source = pod.metadata.annotations.find("kubernetes.io/config.source");
  return source != pod.metadata.annotations.end() && source->second != "api";
}

bool HasDiskLimits(const Pod& pod) {
  for (const Volume& volume : pod.spec.volumes)
    if (volume.empty_dir && volume.empty_dir->medium != "Memory" && volume.empty_dir->size_limit) return true;
  for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers})
    for (const Container& container : *list)
      if (container.resources.limits.contains(kStorage)) return true;
  return false;
}

std::vector<Eviction> OverDiskLimits(const std::vector<EvictionCandidate>& pods) {
  std::vector<Eviction> evictions;
  for (const EvictionCandidate& candidate : pods)
    if (!IsCriticalPod(*candidate.pod))
      if (auto message = OverLimit(candidate))
        evictions.push_back({candidate.pod->metadata.uid, std::move(*message), false});
  return evictions;
}

const EvictionThreshold& FirstToReclaim(const EvictionThresholds& met) {
  const auto memory = std::find_if(met.begin(), met.end(), [](const EvictionThreshold& threshold) {
    return threshold.signal == "memory.available";
  });
  return memory == met.end() ? met.front() : *memory;
}

std::optional<Eviction> ChooseEviction(const EvictionThresholds& met, const SignalObservations& observations,
                                       std::vector<EvictionCandidate> pods) {
  if (met.empty()) return std::nullopt;
  const EvictionThreshold& threshold = FirstToReclaim(met);
  RankPods(ResourceOfSignal(threshold.signal), pods);
  for (const EvictionCandidate& candidate : pods)
    if (!IsCriticalPod(*candidate.pod))
      return Eviction{candidate.pod->metadata.uid,
                      PressureMessage(threshold, observations.at(threshold.signal), candidate), true};
  return std::nullopt;
}

std::optional<std::string> WhyNotUnderPressure(const Pod& pod, const std::vector<std::string>& conditions) {
  if (conditions.empty() || IsCriticalPod(pod)) return std::nullopt;
  // Under memory pressure alone, those that ask for something, or tolerate it, are taken.
  if (conditions.size() == 1 && conditions[0] == "MemoryPressure") {
    const Taint taint{.key = "node.kubernetes.io/memory-pressure", .effect = "NoSchedule"};
    if (pod.status.qos_class != "BestEffort" || Tolerates(pod.spec.tolerations, taint)) return std::nullopt;
  }
  std::string list;
  for (const std::string& condition : conditions) list += (list.empty() ? "" : " ") + condition;
  return "The node had condition: [" + list + "]. ";
}

}  // namespace flyball::node
