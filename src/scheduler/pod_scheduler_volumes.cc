// Pods whose claims wait for them: the volumes are bound before the pod is.
#include "base/observe/log.h"
#include "scheduler/pod_scheduler.h"
#include "scheduler/volumes/volume_writer.h"

namespace flyball::scheduler {
namespace {

// How long a volume may take to be made (upstream: VolumeBindingTimeoutSeconds).
constexpr Duration kBindingTimeout = std::chrono::seconds(600);

}  // namespace

void PodScheduler::BindVolumes(const PodInfoPtr& pod, const std::string& node,
                               std::vector<VolumeBinding> bindings, std::vector<ClaimPlan> plans) {
  volumes_.Promise(bindings);
  const std::string uid = pod->uid();
  const TimerId timer = strand_.PostAfter(kBindingTimeout, [weak = weak_from_this(), uid] {
    if (const auto self = weak.lock())
      self->VolumesFailed(uid, Error(Reason::kTimeout, "binding volumes: context deadline exceeded"));
  });
  volume_waits_[uid] = {pod, node, bindings, std::move(plans), false, timer};
  VolumeWriter::Start(client_, node, std::move(bindings),
                      [weak = weak_from_this(), uid](const Status& status) {
                        if (const auto self = weak.lock())
                          self->OnStrand([uid, status](PodScheduler& s) { s.VolumesWritten(uid, status); });
                      });
}

void PodScheduler::VolumesWritten(const std::string& uid, const Status& status) {
  if (!status) return VolumesFailed(uid, status.error().Annotate("binding volumes"));
  const auto found = volume_waits_.find(uid);
  if (found == volume_waits_.end()) return;
  found->second.written = true;
  CheckVolumes();
}

void PodScheduler::CheckVolumes() {
  std::vector<std::string> bound;
  std::vector<std::pair<std::string, std::string>> failed;
  for (const auto& [uid, wait] : volume_waits_) {
    if (!wait.written) continue;
    const VolumeLedger::State state = volumes_.StateOf(wait.bindings, wait.node);
    if (state.progress == VolumeLedger::Progress::kBound) bound.push_back(uid);
    if (state.progress == VolumeLedger::Progress::kFailed) failed.emplace_back(uid, state.why);
  }
  for (const std::string& uid : bound) {
    const VolumeWait wait = volume_waits_.at(uid);
    ForgetVolumes(uid);
    if (wait.plans.empty())
      Bind(wait.pod, wait.node);
    else
      BindClaims(wait.pod, wait.node, wait.plans);
  }
  for (const auto& [uid, why] : failed)
    VolumesFailed(uid, Error(Reason::kConflict, "binding volumes: " + why));
}

void PodScheduler::VolumesFailed(const std::string& uid, const Error& error) {
  const auto found = volume_waits_.find(uid);
  if (found == volume_waits_.end()) return;
  const PodInfoPtr pod = found->second.pod;
  const std::string node = found->second.node;
  ForgetVolumes(uid);
  BindDone(pod, node, Unexpected(error));
}

void PodScheduler::ForgetVolumes(const std::string& uid) {
  const auto found = volume_waits_.find(uid);
  if (found == volume_waits_.end()) return;
  strand_.Cancel(found->second.timer);
  volumes_.Forget(found->second.bindings);
  volume_waits_.erase(found);
}

}  // namespace flyball::scheduler
