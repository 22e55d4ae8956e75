// What the node does when it runs short of memory, disk or processes (upstream: kubelet's eviction manager).
#include "base/observe/log.h"
#include "node/agent/node_agent_core.h"

namespace flyball::node {
namespace {

struct PressureRow {
  const char *type, *reason, *message;
};
// What a condition says while it holds.
constexpr PressureRow kPressures[] = {
    {"MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"},
    {"DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure"},
    {"PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"},
};

}  // namespace

void NodeAgent::Core::WatchPressure() {
  After(kPressureCheck, [](Core& self) { self.CheckPressure(); });
}

// The disk is only looked through for pods that have limits on it, and if the node is short of it.
void NodeAgent::Core::CheckPressure() {
  bool limits = false;
  for (const auto& [uid, worker] : workers_)
    limits = limits || (worker->active() && HasDiskLimits(worker->pod()));
  if (!limits && options_.eviction.empty()) return WatchPressure();
  ReadStats(limits ? StatsDetail::kLimited : StatsDetail::kMachine,
            [weak = weak_from_this()](const NodeStats& stats) {
              const auto self = weak.lock();
              if (self) self->OnStrand([stats](Core& core) { core.PressureRead(stats); });
            });
}

void NodeAgent::Core::PressureRead(const NodeStats& stats) {
  const auto met = ThresholdsMet(options_.eviction, ObserveSignals(stats));
  if (pressure_.Update(met, Now())) {
    log::Info("the node's pressure has changed",
              {{"conditions", std::to_string(pressure_.conditions().size())}});
    WriteStatus();
  }
  const auto evictions = OverDiskLimits(CandidatesOf(stats));
  for (const Eviction& eviction : evictions) Evict(eviction);
  if (met.empty() || !evictions.empty()) return WatchPressure();
  Relieve(met);
}

// Images that nobody uses go before pods do.
void NodeAgent::Core::Relieve(const EvictionThresholds& met) {
  const std::string resource = ResourceOfSignal(FirstToReclaim(met).signal);
  context_->recorder.Warning(NodeTarget(options_.name), "EvictionThresholdMet",
                             "Attempting to reclaim " + resource);
  const auto next = [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->ReadStats(StatsDetail::kAll, [weak](const NodeStats& stats) {
      if (const auto alive = weak.lock())
        alive->OnStrand([stats](Core& core) { core.EvictUnderPressure(stats); });
    });
  };
  Executor* const where = runtime_.executor();
  if (!where || (resource != "ephemeral-storage" && resource != "inodes")) return next();
  where->Post([&runtime = runtime_, next] {
    if (const Status removed = runtime.RemoveUnusedImages(); !removed)
      log::Warning("images were not removed", {{"error", removed.error().message()}});
    next();
  });
}

void NodeAgent::Core::EvictUnderPressure(const NodeStats& stats) {
  const auto observations = ObserveSignals(stats);
  if (const auto eviction =
          ChooseEviction(ThresholdsMet(options_.eviction, observations), observations, CandidatesOf(stats)))
    Evict(*eviction);
  WatchPressure();
}

std::vector<EvictionCandidate> NodeAgent::Core::CandidatesOf(const NodeStats& stats) const {
  std::vector<EvictionCandidate> candidates;
  for (const auto& [uid, worker] : workers_) {
    if (!worker->active()) continue;
    EvictionCandidate candidate{worker->pod_ptr(), {.uid = uid}};
    for (const PodStats& pod : stats.pods)
      if (pod.uid == uid) candidate.stats = pod;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

void NodeAgent::Core::Evict(const Eviction& eviction) {
  const auto found = workers_.find(eviction.uid);
  if (found == workers_.end()) return;
  log::Info("evicting a pod", {{"pod", found->second->pod().metadata.name}, {"why", eviction.message}});
  found->second->Evict(eviction.message, eviction.by_pressure);
}

void NodeAgent::Core::SetPressureConditions(Node& node) const {
  for (NodeCondition& condition : node.status.conditions)
    for (const PressureRow& row : kPressures) {
      if (condition.type != row.type || !pressure_.Has(row.type)) continue;
      condition.status = "True";
      condition.reason = row.reason;
      condition.message = row.message;
    }
}

void NodeAgent::Core::CollectImages() {
  if (Executor* const where = runtime_.executor())
    where->Post([&runtime = runtime_, context = context_, name = options_.name] {
      const Status collected = runtime.CollectImages();
      if (!collected)
        context->recorder.Warning(NodeTarget(name), "ImageGCFailed", collected.error().message());
    });
  After(kImageCollection, [](Core& self) { self.CollectImages(); });
}

}  // namespace flyball::node
