// PodWorker: makes one pod of this node what its object says: containers started in order, probed, restarted
// by policy, stopped with grace; and its status what really is (upstream: kubelet's pod workers).
//
// States: kRunning -> kTerminating (the pod is being deleted, or its object is gone) -> kStopped (nothing of
// it runs; the object is deleted for good) -> finished. kEnded: all containers have ended for good; only a
// deletion moves it on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/executor.h"
#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "network/pod_attacher.h"
#include "node/devices/device_manager.h"
#include "node/pod/container_unit.h"
#include "node/pod/environment.h"
#include "node/pod/pod_admission.h"
#include "node/pod/pod_source.h"
#include "node/runtime/runtime.h"
#include "node/static_pods/static_pod.h"
#include "node/volumes/pod_volumes.h"

namespace flyball::node {

struct PullSecrets;

inline constexpr Duration kFirstRestartBackoff = std::chrono::seconds(10);
inline constexpr Duration kMaxRestartBackoff = std::chrono::minutes(5);
// A container that ran this long has its back-off forgotten.
inline constexpr Duration kBackoffReset = std::chrono::minutes(10);
// Kubelet's --sync-frequency: how soon a change reaches a volume at the latest.
inline constexpr Duration kVolumeRefresh = std::chrono::minutes(1);

// How long to wait after so many failures.
Duration BackoffAfter(int failures);
// The reason of a container whose end nobody saw (upstream: kubelet).
inline constexpr char kContainerLost[] = "ContainerStatusUnknown";

// What all workers of an agent share. Callbacks of calls under way keep it alive.
struct WorkerContext {
  Client client;
  ContainerRuntime& runtime;
  Strand strand;       // all workers run on it
  Executor& blocking;  // for probes over the network
  EventRecorder recorder;
  std::vector<std::string> host_ips;                     // one of each IP family, the primary one first
  std::shared_ptr<PodVolumes> volumes;                   // null: containers of the runtime have none
  std::function<void(const std::string& uid)> finished;  // the worker can be dropped
  // Why the node does not take a pod; null: it takes every one.
  std::function<std::optional<PodRejection>(const Pod& pod)> reject{};
  // Gives pods a network of their own; null: they have the machine's.
  std::shared_ptr<network::PodAttacher> network{};
  ClusterDns dns{};
  NodeAllocatable allocatable{};
  std::shared_ptr<DeviceManager> devices{};  // null: there are no device plugins
  // What every container's environment says about Services; null: nothing.
  std::function<Variables(const Pod& pod)> service_variables{};
};

// Confined to WorkerContext::strand. Owned by shared_ptr.
class PodWorker : public std::enable_shared_from_this<PodWorker> {
 public:
  using PodPtr = std::shared_ptr<const Pod>;
  PodWorker(std::shared_ptr<WorkerContext> context, PodPtr pod);
  ~PodWorker();

  // The first call begins.
  void Update(PodPtr pod);
  // The object is gone: whatever runs is stopped at once.
  void Gone();
  // The node cannot bear the pod any more: it fails, and what runs is stopped almost at once. `by_pressure`:
  // the node is short of something, so that its owner may make another; else the pod has outgrown its limits.
  void Evict(const std::string& message, bool by_pressure);
  // Of a static pod: the UID of the mirror pod that its status goes to; empty: there is none now.
  void SetMirror(std::string uid);
  // What it waited for may be there now: the node's range of pod addresses.
  void Resume() {
    if (begun_) Sync();
  }
  // For logs: how often a container was started; -1 if there is no such container or it never was.
  int LastAttempt(const std::string& container) const;
  // Why a container that was never started has no log, in kubelet's words.
  std::string WhyNoLog(const std::string& container) const;
  // For exec and its like, without the runtime.
  FoundPod Describe(const std::string& container) const;
  // Its running containers and what to ask of each, without what they use.
  PodStats Running(std::vector<UsageQuery>& queries) const;
  const Pod& pod() const { return *pod_; }
  const PodPtr& pod_ptr() const { return pod_; }
  // It uses what a node has: it was taken, and has not ended.
  bool active() const { return begun_ && (state_ == State::kRunning || state_ == State::kTerminating); }

 private:
  enum class State { kRunning, kTerminating, kStopped, kEnded };

  void Restore();
  void RestoreUnit(ContainerUnit& unit, const ContainerStatus& known);
  // Units for the ephemeral containers that have none yet. True if there were any.
  bool AddEphemeral();
  const Container& SpecOf(const ContainerUnit& unit) const;
  EventTarget TargetOf(const ContainerUnit& unit) const;

  // Starts what should run and does not, then writes the status.
  void Sync();
  void StartDue();
  bool InitDone() const;
  // pod_devices.cc: false if the pod has yet to get its devices; Sync is called again when it has.
  bool HaveDevices();
  void DevicesAllocated(const Status& allocated);
  void ReleaseDevices();
  // pod_attachment.cc: false if the pod's network is still to be made; Sync is called again when it is.
  bool HaveNetwork();
  void NetworkMade(const Result<network::PodAttachment>& made);
  void DropNetwork();
  std::string pod_ip() const { return pod_ips_.empty() ? std::string() : pod_ips_.front(); }
  bool has_own_network() const { return context_.network && !pod_->spec.host_network; }
  void StartUnit(ContainerUnit& unit);
  // pod_image.cc: the image, as its policy says.
  void HavePullSecrets(ContainerUnit& unit, const PullSecrets& secrets);
  void FindImage(ContainerUnit& unit, const std::vector<RegistryCredentials>& credentials);
  void ImageFound(ContainerUnit& unit, const ImageRequest& request,
                  const Result<std::optional<ReadyImage>>& image);
  void ImageRefused(ContainerUnit& unit, const Error& error);
  void PullImage(ContainerUnit& unit, const ImageRequest& request);
  void PullFailed(ContainerUnit& unit, const std::string& image, const Error& error);
  void ImageReady(ContainerUnit& unit, const ReadyImage& image, const std::string& event);
  // Images that the container has as volumes, then all other volumes.
  void PrepareImageVolumes(ContainerUnit& unit);
  // Makes the pod's volumes, then what the container needs.
  void PrepareVolumes(ContainerUnit& unit);
  void RefreshVolumes();
  void RefreshVolumesNow();
  void PrepareEnvironment(ContainerUnit& unit);
  ContainerConfig ConfigOf(const ContainerUnit& unit, const PodPtr& pod, const Variables& variables) const;
  void Started(ContainerUnit& unit, const Result<std::string>& id);
  void EndedBeforeStart(ContainerUnit& unit, const Error& error);
  // What an agent before this one has started and still runs, or ended meanwhile.
  void AdoptUnits();
  UniqueFunction<void(ContainerExit)> WhenExited(ContainerUnit& unit, int starts);
  // Calls `work` where the runtime may block, then `then` on the strand.
  template <typename Work, typename Then>
  void OnRuntime(Work work, Then then) {
    On(context_.runtime.executor(), std::move(work), std::move(then));
  }
  template <typename Work, typename Then>
  void On(Executor* where, Work work, Then then);
  void Launch(ContainerUnit& unit, const PodPtr& pod, const Result<Variables>& variables);
  void CannotStart(ContainerUnit& unit, const std::string& reason, const Error& error);
  // The container waits, for longer each time, to be tried again.
  void WaitFor(ContainerUnit& unit, const std::string& reason, const std::string& message);
  void Retry(ContainerUnit& unit, Duration delay);
  void BeginProbes(ContainerUnit& unit);
  void ProbeFailed(ContainerUnit& unit, ProbeKind kind);
  void Exited(ContainerUnit& unit, const std::string& runtime_id, const ContainerExit& exit);
  bool ShouldRestart(const ContainerUnit& unit) const;
  void ScheduleRestart(ContainerUnit& unit);
  bool AllEnded() const;

  // The spec has changed: what may change is put in force.
  void ApplySpec();
  void ResizeUnit(ContainerUnit& unit);
  bool ReplaceUnit(ContainerUnit& unit);
  void PutInForce(ContainerUnit& unit);
  // The pod as a whole fails: nothing is started any more, and what runs is stopped.
  void Fail(std::string reason, std::string message, std::optional<Duration> grace = std::nullopt);
  void ArmDeadline();

  void BeginTermination(Duration grace);
  void StopRunning();
  void StopUnit(ContainerUnit& unit, Duration grace, const std::string& message);
  void Terminate(ContainerUnit& unit, Duration grace);
  // Calls `done` on the strand with whether it went well. Exec and network hooks end by the timeout.
  void RunHook(const ContainerUnit& unit, const LifecycleHandler& hook, Duration timeout,
               std::function<void(PodWorker& self, bool well)> done);
  // Runs the container's postStart hook, if it has one; a container whose hook fails is killed.
  void AfterStart(ContainerUnit& unit);
  void CheckStopped();
  void ReleaseVolumes();
  // Nothing of it runs: its volumes go, and then the object.
  void TearDownVolumes();
  void VolumesGone();
  // It has ended for good, and its object stays: other pods may want its volumes.
  void ReleaseEnded();
  void DeleteObject();

  // pod_start.cc has what leads to a running container; pod_status.cc:
  PodStatus MakeStatus() const;
  ContainerStatus MakeContainerStatus(const ContainerUnit& unit) const;
  std::string Phase() const;
  void AddConditions(PodStatus& status) const;
  void WriteStatus();
  void StatusWritten(const Status& result);

  api::Time Now() const { return api::Time::From(context_.strand.clock().Now()); }
  template <typename Fn>
  Closure OnStrand(Fn fn);

  const std::shared_ptr<WorkerContext> keep_;
  WorkerContext& context_;  // *keep_
  PodPtr pod_;
  State state_ = State::kRunning;
  std::vector<std::unique_ptr<ContainerUnit>> units_;  // init containers first
  std::vector<std::string> pod_ips_;                   // one of each IP family; empty: not known yet
  std::string network_namespace_;                      // of that
  bool networked_ = false, attaching_ = false;
  api::Time start_time_;
  Duration grace_{};
  bool begun_ = false, adopted_ = false, object_gone_ = false;
  const bool static_;                             // it comes from a file
  std::string mirror_uid_;                        // of a static pod
  std::string failure_reason_, failure_message_;  // of the pod as a whole
  std::string resize_error_;                      // why its resources are not those of its spec
  bool evicted_ = false;
  bool disrupted_ = false;  // it failed because of the node
  TimerId deadline_ = kNoTimer;
  TimerId refresh_ = kNoTimer;  // of volumes that may change
  bool volumes_gone_ = false, ended_released_ = false;
  bool has_devices_ = false, allocating_devices_ = false;

  std::optional<PodStatus> written_;  // what the server has, as far as we know
  bool writing_ = false;
  int write_failures_ = 0;
};

template <typename Fn>
Closure PodWorker::OnStrand(Fn fn) {
  return [weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock()) fn(*self);
  };
}

template <typename Work, typename Then>
void PodWorker::On(Executor* where, Work work, Then then) {
  if (!where) return then(*this, work(context_.runtime));
  where->Post([weak = weak_from_this(), context = keep_, work = std::move(work), then = std::move(then)] {
    auto result = work(context->runtime);
    context->strand.Post([weak, then, result = std::move(result)] {
      if (const auto self = weak.lock()) then(*self, result);
    });
  });
}

}  // namespace flyball::node
