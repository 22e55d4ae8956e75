// The parts of OciRuntime: oci_runtime.cc (pods, ends, what an earlier agent left), oci_images.cc (images),
// oci_start.cc (starting) and oci_exec.cc (exec and logs).
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/files/durable_file.h"
#include "node/cgroups/cgroup_tree.h"
#include "node/images/image_collector.h"
#include "node/images/image_store.h"
#include "node/oci/oci_config.h"
#include "node/oci/oci_runtime.h"
#include "node/oci/oci_state.h"
#include "node/oci/runc.h"
#include "node/registry/image_puller.h"
#include "node/runtime/listening_port.h"

namespace flyball::node {

using OciContainerPtr = std::shared_ptr<OciContainer>;
using OciPodPtr = std::shared_ptr<OciPod>;

// Starts of different pods at once.
inline constexpr int kContainerWorkers = 4;
// Pulls of different images at once.
inline constexpr int kPullWorkers = 3;

// Of "SIGUSR1", "USR1" or "10"; SIGTERM if it is none.
int SignalNumber(const std::string& name);

class OciRuntime final : public OciContainers {
 public:
  OciRuntime(const OciRuntimeOptions& options, Executor& executor, Random& random, ImageStore images,
             OwnedFd monitor)
      : options_(options),
        executor_(executor),
        random_(random),
        images_(std::move(images)),
        collector_(images_, options.image_gc,
                   [root = options.data_dir](TimePoint now) { return ReadDiskUsage(root, now); }),
        puller_(images_, executor, PullerOptions(options)),
        monitor_program_(std::move(monitor)),
        runc_(Runc::FindProgram(), options.data_dir + "/oci/runc", processes_) {}
  ~OciRuntime() override {
    Shutdown();
    puller_.Stop();
    pulls_.Stop();
    workers_.Stop();
  }

  Status Open();

  std::string_view name() const override { return "native"; }
  std::string_view version() const override { return "native://0.1.0"; }
  bool real() const override { return true; }
  Executor* executor() override { return &workers_; }
  std::string volumes_folder() const override { return options_.data_dir + "/volumes"; }

  Executor* pull_executor() override { return &pulls_; }
  Result<std::optional<ReadyImage>> FindImage(const ImageRequest& request) override;
  Result<ReadyImage> PullImage(const ImageRequest& request) override;
  Status MountImage(const std::string& pod_uid, const std::string& volume, const std::string& image,
                    const std::string& path) override;
  Result<std::string> Start(const ContainerConfig& config,
                            UniqueFunction<void(ContainerExit)> exited) override;
  std::optional<AdoptedContainer> Adopt(const std::string& pod_uid, const std::string& container,
                                        UniqueFunction<void(ContainerExit)> exited) override;
  void KeepOnly(const std::string& node, const std::set<std::string>& pod_uids) override;
  int StopSignal(const std::string& id) override {
    const auto container = Find(id);
    const bool own = container && !container->record.stop_signal.empty();
    return own ? SignalNumber(container->record.stop_signal) : SIGTERM;
  }
  void Signal(const std::string& id, int signal) override {
    const auto container = Find(id);
    if (!container) return;
    MutexLock lock(mu_);
    if (container->exit || container->pid <= 0) return;
    if (ProcessStartTime(container->pid) == container->start_time) kill(container->pid, signal);
  }

  void Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
            UniqueFunction<void(Result<ExecResult>)> done) override;
  Result<std::shared_ptr<StreamHandle>> OpenExec(const std::string& id, const StreamRequest& request,
                                                 StreamEvents events) override;
  Result<std::shared_ptr<StreamHandle>> Attach(const std::string& id, const StreamRequest& request,
                                               StreamEvents events) override {
    const auto container = FindRunning(id);
    if (!container) return Unexpected(Error(Reason::kNotFound, "container is not running"));
    return container->streams->Attach(request, std::move(events));
  }
  void ReadLog(const LogQuery& query, LogSink sink) override;
  std::map<std::string, ResourceUsage> UsageOf(const std::vector<UsageQuery>& containers,
                                               TimePoint now) override;
  std::string CgroupOf(const Pod& pod) const override { return PodCgroup(pods_cgroup_, pod); }
  Status Resize(const std::string& id, const Pod& pod, const Container& spec) override {
    const auto container = FindRunning(id);
    if (!container) return {};
    // A container may not have more than its pod: the pod's cgroup grows before it, and shrinks after it.
    const CgroupLimits limits = PodCgroupLimits(pod, options_.pod_max_pids);
    (void)cgroups_.Make(CgroupOf(pod), limits);
    FLYBALL_TRY(runc_.Update(id, container->bundle.folder() + "/resources.json", CgroupResources(spec)));
    const Status made = cgroups_.Make(CgroupOf(pod), limits);
    cgroups_.BalanceClasses(pods_cgroup_);
    return made;
  }
  WrittenFolders WrittenBy(const std::string& id) override {
    const auto container = Find(id);
    if (!container) return {};
    return {container->bundle.folder() + "/upper",
            std::filesystem::path(container->record.log_path).parent_path().string()};
  }
  Status CollectImages() override { return collector_.Round(UsedImages(), executor_.clock().Now()); }
  Status RemoveUnusedImages() override {
    return collector_.RemoveUnused(UsedImages(), executor_.clock().Now());
  }

  std::string AllocatePodIp(const std::string&) override { return options_.pod_ip; }
  bool MayForwardTo(const std::string& pod_uid, int port) override {
    return ListensAt(port, [&](pid_t pid) {
      const auto text = ReadFile("/proc/" + std::to_string(pid) + "/cgroup");
      return text && text->find("/pod" + pod_uid + "/") != std::string::npos;
    });
  }
  void RemovePod(const std::string& ns, const std::string& pod, const std::string& uid) override {
    workers_.Post([this, uid, logs = LogFolder(ns, pod, uid)] {
      RemovePodNow(uid);
      std::error_code ignored;
      std::filesystem::remove_all(logs, ignored);
    });
  }
  void Shutdown() override;

  bool Knows(const std::string& id) const override { return Find(id) != nullptr; }
  bool KnowsPod(const std::string& pod_uid) const override {
    MutexLock lock(mu_);
    return pods_.contains(pod_uid);
  }

 private:
  static ImagePullerOptions PullerOptions(const OciRuntimeOptions& options) {
    ImagePullerOptions puller;
    if (!options.registries_file.empty()) puller.registries_file = options.registries_file;
    return puller;
  }
  std::string PodsFolder() const { return options_.data_dir + "/oci/pods"; }
  std::string LogFolder(const std::string& ns, const std::string& pod, const std::string& uid) const {
    return options_.data_dir + "/logs/" + ns + "_" + pod + "_" + uid;
  }
  OciContainerPtr Find(const std::string& id) const {
    MutexLock lock(mu_);
    const auto found = containers_.find(id);
    return found == containers_.end() ? nullptr : found->second;
  }
  OciContainerPtr FindRunning(const std::string& id) const {
    const auto container = Find(id);
    MutexLock lock(mu_);
    return container && !container->exit && container->pid > 0 ? container : nullptr;
  }
  OciPodPtr PodOf(const std::string& uid, const std::string& node);
  std::set<std::string> UsedImages() const {
    MutexLock lock(mu_);
    std::set<std::string> names;
    for (const auto& [id, container] : containers_) names.insert(container->record.image);
    return names;
  }
  std::string NewId() {
    std::string id = random_.Uuid() + random_.Uuid();
    std::erase(id, '-');
    return id;
  }

  void RecoverPod(const std::string& uid);
  void RecoverContainer(const OciPodPtr& pod, const std::string& folder);
  Status Connect(OciPod& pod) FLYBALL_REQUIRES(pod.work);
  MonitorEvents EventsOf();
  Status EnsureSandbox(OciPod& pod, const Pod& spec) FLYBALL_REQUIRES(pod.work);
  Result<OciContainerPtr> Prepare(const ContainerConfig& config, const OciPodPtr& pod)
      FLYBALL_REQUIRES(pod->work);
  // Requires the pod's `work`.
  Status RunContainer(const OciContainerPtr& container);
  Status WriteBundle(const ContainerConfig& config, const StoredImage& image, const OciContainer& container);
  void DropOldStarts(const ContainerConfig& config, const OciPod& pod);

  void HasExited(const std::string& id, const RecordedExit& exit);
  void Finish(const OciContainerPtr& container);
  void RemovePodNow(const std::string& uid);
  // oci_images.cc
  void UnmountImages(const std::string& pod_uid);
  void KillAll();

  OciRuntimeOptions options_;
  Executor& executor_;
  Random& random_;
  ImageStore images_;
  ImageCollector collector_;
  ImagePuller puller_;
  const OwnedFd monitor_program_;
  const std::shared_ptr<ProcessLoop> processes_ = std::make_shared<ProcessLoop>();
  const Runc runc_;
  const CgroupTree cgroups_;
  const std::string pods_cgroup_ = PodsCgroup(options_.cgroup_root);
  mutable Mutex mu_;
  CondVar changed_;
  std::map<std::string, OciPodPtr> pods_ FLYBALL_GUARDED_BY(mu_);              // by UID
  std::map<std::string, OciContainerPtr> containers_ FLYBALL_GUARDED_BY(mu_);  // by id
  const std::shared_ptr<MonitorLoop> monitors_ = std::make_shared<MonitorLoop>();
  ThreadPool workers_{"containers", kContainerWorkers};
  ThreadPool pulls_{"pulls", kPullWorkers};
};

}  // namespace flyball::node
