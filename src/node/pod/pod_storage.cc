// The volumes of a pod, before its containers and while they run.
#include "node/pod/pod_worker.h"
#include "node/runtime/native_runtime.h"

namespace flyball::node {

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
              // As upstream: the container waits as one that is being created, and the event says why.
              self.context_.recorder.Warning(flyball::TargetOf(*self.pod_), "FailedMount",
                                             made.error().message());
              unit.state = ContainerUnit::State::kPullWait;
              constexpr Duration kMountRetry = std::chrono::seconds(2);
              self.Retry(unit, kMountRetry);
              self.WriteStatus();
            });
}

// What the API says about ConfigMaps, Secrets and the pod itself reaches their files with the next round.
void PodWorker::RefreshVolumes() {
  if (!context_.volumes || !PodVolumes::MayChange(*pod_)) return;
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

}  // namespace flyball::node
