// PodScheduler: the loop behind AddScheduler.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/types/apps.h"
#include "base/run/executor.h"
#include "controller/events/event_recorder.h"
#include "controller/manager.h"
#include "scheduler/devices/pod_devices.h"
#include "scheduler/placement.h"
#include "scheduler/preemption.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduling_queue.h"
#include "scheduler/snapshot/cluster.h"
#include "scheduler/volumes/pod_volumes.h"

namespace flyball::scheduler {

// Thread-safe on the outside; everything private runs on its strand. Owned by shared_ptr: callbacks of
// running calls hold weak pointers.
class PodScheduler : public std::enable_shared_from_this<PodScheduler> {
 public:
  PodScheduler(Manager& manager, SchedulerOptions options);

  // Subscribes to informers; makes no decisions yet.
  void Connect();
  // Starts once the handlers have received all existing objects; ends with the token.
  void Start(std::stop_token stop);

 private:
  using PodPtr = std::shared_ptr<const Pod>;
  using NodePtr = std::shared_ptr<const Node>;

  void OnStrand(UniqueFunction<void(PodScheduler&)> fn);

  void ListenToPods();
  void ListenToNodes();
  void ListenToNamespaces();
  void ListenToDevices();
  void ListenToVolumes();
  using Handlers = std::vector<std::shared_ptr<HandlerRegistration>>;
  template <typename T>
  void WakeOn(Handlers& handlers, bool (*helps)(const PodInfo& pod),
              std::function<void(PodScheduler&, const T&)> seen);
  void BeginWhenSynced();

  void PodChanged(const PodPtr& old_pod, const PodPtr& pod);
  void PodGone(const PodPtr& pod);
  void AssignedChanged(const PodPtr& old_pod, const PodPtr& pod);
  void WaitingChanged(const PodPtr& old_pod, const PodPtr& pod);
  void NodeChanged(const NodePtr& old_node, const NodePtr& node);
  void RoomMade(const std::string& node);

  // Posts the loop if there is work and it is not posted yet.
  void Pump();
  void RunSome();
  void Try(const SchedulingQueue::Entry& entry);
  api::Optional<LabelSelector> GroupOf(const Pod& pod) const;
  void BindClaims(const PodInfoPtr& pod, const std::string& node, std::vector<ClaimPlan> plans);
  // pod_scheduler_volumes.cc: the volumes first, then the rest.
  void BindVolumes(const PodInfoPtr& pod, const std::string& node, std::vector<VolumeBinding> bindings,
                   std::vector<ClaimPlan> plans);
  void VolumesWritten(const std::string& uid, const Status& status);
  // Goes on with the pods whose volumes are bound.
  void CheckVolumes();
  void VolumesFailed(const std::string& uid, const Error& error);
  void ForgetVolumes(const std::string& uid);
  void Bind(const PodInfoPtr& pod, const std::string& node);
  void BindDone(const PodInfoPtr& pod, const std::string& node, const Status& status);
  void NoPlace(const PodInfoPtr& pod, const Snapshot& snapshot, const Placement& placement);
  void Evict(const PodInfoPtr& pod, const PreemptionResult& result);
  void ReportUnschedulable(const Pod& pod, const std::string& message, const std::string& nominated);
  void ArmTimer();

  SteadyTime Now() const { return strand_.clock().Steady(); }

  const SchedulerOptions options_;
  const Client client_;
  InformerFactory& informers_;
  Random& random_;
  Strand strand_;
  EventRecorder recorder_;
  const Lister<Service> services_;
  const Lister<ReplicaSet> replica_sets_;
  const Lister<StatefulSet> stateful_sets_;
  const Lister<PodDisruptionBudget> budgets_;
  Handlers handlers_;
  // Pods without claims do not wait for these: an API may not have them.
  Handlers device_handlers_, volume_handlers_;

  // A pod that has a node, and whose volumes are still to be bound.
  struct VolumeWait {
    PodInfoPtr pod;
    std::string node;
    std::vector<VolumeBinding> bindings;
    std::vector<ClaimPlan> plans;
    bool written = false;
    TimerId timer = kNoTimer;
  };

  Cluster cluster_;
  DeviceLedger devices_;
  VolumeLedger volumes_;
  bool devices_known_ = false, volumes_known_ = false;
  std::map<std::string, VolumeWait> volume_waits_;  // by the pod's UID
  SchedulingQueue queue_;
  std::stop_token stop_;
  bool running_ = false, posted_ = false;
  std::size_t start_ = 0;
  TimerId timer_ = kNoTimer;
  SteadyTime timer_at_{};
};

}  // namespace flyball::scheduler
