// The volumes of a pod, before its containers and while they run.
#include <algorithm>

#include "base/observe/log.h"
#include "node/pod/pod_worker.h"
#include "node/runtime/native_runtime.h"

namespace flyball::node {
namespace {

constexpr Duration kMountRetry = std::chrono::seconds(2);
// What it waits for is written within moments.
constexpr Duration kAttachRetry = std::chrono::milliseconds(300);

}  // namespace

void PodWorker::PrepareVolumes(ContainerUnit& unit) {
  // A process on the machine's own files sees no volumes.
  if (!context_.volumes || pod_->spec.volumes.empty() || IsHostImage(SpecOf(unit).image))
    return PrepareEnvironment(unit);
  OnRuntime([volumes = context_.volumes, pod = pod_,
             ips = pod_ips_](ContainerRuntime&) { return volumes->SetUp(*pod, ips); },
            [&unit](PodWorker& self, const Status& made) {
              if (self.state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
              if (made) {
                if (self.refresh_ == kNoTimer) self.RefreshVolumes();
                return self.PrepareEnvironment(unit);
              }
              // As upstream: the container waits as one that is being created, and the event says why; that a
              // volume is not attached yet is no event.
              const bool attaching = made.error().HasCause(kNotAttachedCause);
              if (!attaching)
                self.context_.recorder.Warning(flyball::TargetOf(*self.pod_), "FailedMount",
                                               made.error().message());
              unit.state = ContainerUnit::State::kPullWait;
              self.Retry(unit, attaching ? kAttachRetry : kMountRetry);
              self.WriteStatus();
            });
}

// What the API says about ConfigMaps, Secrets and the pod itself reaches their files with the next round.
void PodWorker::RefreshVolumes() {
  if (!context_.volumes || !context_.volumes->MayChange(*pod_)) return;
  refresh_ = context_.strand.PostAfter(kVolumeRefresh, OnStrand([](PodWorker& self) {
                                         self.refresh_ = kNoTimer;
                                         self.RefreshVolumesNow();
                                       }));
}

void PodWorker::RefreshVolumesNow() {
  if (state_ != State::kRunning) return;
  OnRuntime([volumes = context_.volumes, pod = pod_,
             ips = pod_ips_](ContainerRuntime&) { return volumes->SetUp(*pod, ips); },
            [](PodWorker& self, const Status& made) {
              if (!made)
                self.context_.recorder.Warning(flyball::TargetOf(*self.pod_), "FailedMount",
                                               made.error().message());
              if (self.refresh_ == kNoTimer) self.RefreshVolumes();
            });
}

// What it has written is what the node wants back.
void PodWorker::ReleaseVolumes() {
  const bool any = std::any_of(units_.begin(), units_.end(),
                               [](const auto& unit) { return unit->running() || unit->launching; });
  if (any) return;
  if (Executor* const where = context_.runtime.executor(); where && context_.volumes)
    where->Post([volumes = context_.volumes, uid = pod_->metadata.uid] { (void)volumes->TearDown(uid); });
}

void PodWorker::ReleaseEnded() {
  if (ended_released_ || !context_.volumes || pod_->spec.volumes.empty()) return;
  const bool any = std::any_of(units_.begin(), units_.end(),
                               [](const auto& unit) { return unit->running() || unit->launching; });
  if (any) return;
  ended_released_ = true;
  if (Executor* const where = context_.runtime.executor())
    where->Post([volumes = context_.volumes, uid = pod_->metadata.uid] { volumes->Release(uid); });
}

// Upstream: the object of a pod stays until its volumes are unmounted.
void PodWorker::TearDownVolumes() {
  if (!context_.volumes || !context_.runtime.executor()) return VolumesGone();
  OnRuntime([volumes = context_.volumes,
             uid = pod_->metadata.uid](ContainerRuntime&) { return volumes->TearDown(uid); },
            [](PodWorker& self, const Status& gone) {
              if (gone) return self.VolumesGone();
              log::Warning("volumes of a pod are still there, will try again",
                           {{"pod", self.pod_->metadata.name}, {"error", gone.error().message()}});
              self.context_.strand.PostAfter(
                  kMountRetry, self.OnStrand([](PodWorker& again) { again.TearDownVolumes(); }));
            });
}

}  // namespace flyball::node
