// The devices of a pod's containers (upstream: kubelet's resource allocation handler).
#include <algorithm>

#include "node/pod/pod_worker.h"

namespace flyball::node {

bool PodWorker::HaveDevices() {
  if (has_devices_ || allocating_devices_) return has_devices_;
  has_devices_ = !context_.devices || !context_.runtime.executor() || !context_.devices->Concerns(*pod_);
  // One that an agent before this one has taken has its devices, healthy or not.
  has_devices_ = has_devices_ || pod_->status.start_time.has_value();
  if (has_devices_) return true;
  allocating_devices_ = true;
  OnRuntime([devices = context_.devices, pod = pod_](ContainerRuntime&) { return devices->Allocate(*pod); },
            [](PodWorker& self, const Status& allocated) { self.DevicesAllocated(allocated); });
  return has_devices_;
}

void PodWorker::DevicesAllocated(const Status& allocated) {
  allocating_devices_ = false;
  has_devices_ = true;
  if (state_ == State::kTerminating) return CheckStopped();
  if (allocated) return Sync();
  if (state_ != State::kRunning) return;
  ReleaseDevices();
  const std::string message =
      "Allocate failed due to " + allocated.error().message() + ", which is unexpected";
  context_.recorder.Warning(flyball::TargetOf(*pod_), "UnexpectedAdmissionError", message);
  Fail("UnexpectedAdmissionError", "Pod was rejected: " + message);
}

// It uses none any more.
void PodWorker::ReleaseDevices() {
  const bool any = std::any_of(units_.begin(), units_.end(),
                               [](const auto& unit) { return unit->running() || unit->launching; });
  if (context_.devices && !any) context_.devices->Release(pod_->metadata.uid);
}

}  // namespace flyball::node
