#include "node/oci/oci_runtime.h"

#include <fstream>

#include "base/observe/log.h"
#include "node/monitor/monitor_program.h"
#include "node/oci/oci_runtime_core.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// runc removes the cgroup of a container, not the one of its pod.

}  // namespace

int SignalNumber(const std::string& name) {
  const std::string bare = name.starts_with("SIG") ? name.substr(3) : name;
  for (int signal = 1; signal < NSIG; ++signal)
    if (const char* known = sigabbrev_np(signal); known && bare == known) return signal;
  const int number = std::atoi(bare.c_str());
  return number > 0 && number <= SIGRTMAX ? number : SIGTERM;
}

OciPodPtr OciRuntime::PodOf(const std::string& uid, const std::string& node) {
  MutexLock lock(mu_);
  OciPodPtr& pod = pods_[uid];
  if (!pod) {
    pod = std::make_shared<OciPod>();
    pod->uid = uid;
    pod->node = node;
    pod->folder = PodsFolder() + "/" + uid;
  }
  return pod;
}

MonitorEvents OciRuntime::EventsOf() {
  const auto streams = [this](const std::string& id) -> std::shared_ptr<ContainerStreams> {
    const auto container = Find(id);
    return container ? container->streams : nullptr;
  };
  MonitorEvents events;
  events.started = [this](const std::string& id, pid_t pid) {
    if (const auto container = Find(id); container && container->starting) container->starting->Set(pid);
  };
  events.failed = [this](const std::string& id) {
    if (const auto container = Find(id); container && container->starting)
      container->starting->Set(Unexpected(InternalError(container->bundle.ReadRuncError())));
  };
  events.exited = [this](const std::string& id, int status, std::int64_t nanos) {
    HasExited(id, {status, nanos});
  };
  events.output = [streams](const std::string& id, Stream stream, std::string_view data) {
    if (const auto of = streams(id)) of->Output(stream, data);
  };
  events.attached = [streams](const std::string& id, OwnedFd input) {
    if (const auto of = streams(id)) of->InputIs(std::move(input));
  };
  events.grown = [streams](const std::string& id) {
    if (const auto of = streams(id)) of->Grown();
  };
  return events;
}

Status OciRuntime::Connect(OciPod& pod) {
  MonitorEvents events = EventsOf();
  // Whoever killed the monitor has left its containers without anybody who waits for them.
  events.lost = [this, uid = pod.uid] {
    std::vector<OciContainerPtr> orphans;
    {
      MutexLock lock(mu_);
      for (const auto& [id, container] : containers_)
        if (container->pod->uid == uid && !container->exit) orphans.push_back(container);
    }
    for (const auto& container : orphans) {
      if (container->starting)
        container->starting->Set(Unexpected(InternalError("the pod's monitor has ended")));
      container->lost = true;
      HasExited(container->record.id, {SIGKILL, 0});
    }
  };
  FLYBALL_ASSIGN(pod.connection, monitors_->Connect(pod.folder, std::move(events)));
  std::ifstream(pod.folder + "/monitor.pid") >> pod.monitor;
  return {};
}

void OciRuntime::HasExited(const std::string& id, const RecordedExit& exit) {
  const auto container = Find(id);
  if (!container) return;
  {
    MutexLock lock(mu_);
    if (container->exit) return;
    container->exit = exit;
    if (!container->exited) return;  // until somebody adopts it
  }
  workers_.Post([this, container] { Finish(container); });
}

void OciRuntime::Finish(const OciContainerPtr& container) {
  MutexLock work(container->pod->work);
  ContainerExit exit;
  UniqueFunction<void(ContainerExit)> exited;
  {
    MutexLock lock(mu_);
    if (!containers_.contains(container->record.id)) return;
    exit = DescribeExit(*container, *container->exit);
    exited = std::move(container->exited);
  }
  // Whatever of it still runs (where it has the machine's process ids) goes too.
  runc_.Delete(container->record.id);
  container->bundle.DropRoot();
  container->bundle.MarkReaped();
  images_.Release(container->record.id);
  container->streams->Ended(exit);
  {
    MutexLock lock(mu_);
    containers_.erase(container->record.id);
    changed_.NotifyAll();
  }
  if (exited) exited(exit);
}

void OciRuntime::RemovePodNow(const std::string& uid) {
  UnmountImages(uid);
  OciPodPtr pod;
  std::vector<OciContainerPtr> left;
  {
    MutexLock lock(mu_);
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    pod = found->second;
    for (const auto& [id, container] : containers_)
      if (container->pod == pod) left.push_back(container);
  }
  MutexLock work(pod->work);
  for (const auto& container : left) {
    runc_.Delete(container->record.id);
    images_.Release(container->record.id);
    MutexLock lock(mu_);
    containers_.erase(container->record.id);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(pod->folder, error))
    if (entry.is_directory(error)) ContainerBundle(entry.path().string()).Remove();
  if (pod->connection) pod->connection->Send('Q', {});
  pod->connection.reset();
  for (const char* qos : {"", "burstable/", "besteffort/"})
    cgroups_.Remove(pods_cgroup_ + "/" + qos + "pod" + uid);
  cgroups_.BalanceClasses(pods_cgroup_);
  // The monitor ends with its last child, and removes its socket meanwhile.
  const OwnedFd parent(open(PodsFolder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const Status removed = RemoveTree(parent.get(), uid); !removed)
    log::Warning("folder of a pod not removed", {{"uid", uid}, {"error", removed.error().message()}});
  MutexLock lock(mu_);
  pods_.erase(uid);
  changed_.NotifyAll();
}

void OciRuntime::KeepOnly(const std::string& node, const std::set<std::string>& pod_uids) {
  std::vector<std::string> gone;
  {
    MutexLock lock(mu_);
    for (const auto& [uid, pod] : pods_)
      if (pod->node == node && !pod_uids.contains(uid)) gone.push_back(uid);
  }
  for (const std::string& uid : gone) {
    log::Info("removing a pod that is gone", {{"uid", uid}});
    workers_.Post([this, uid] { RemovePodNow(uid); });
  }
}

// ---- what an earlier agent has left ----

Status OciRuntime::Open() {
  for (const std::string& folder : {options_.data_dir + "/oci", runc_.root(), PodsFolder()})
    FLYBALL_TRY(MakePrivateFolder(folder));
  std::error_code error;
  std::vector<std::string> uids;
  for (const auto& entry : fs::directory_iterator(PodsFolder(), error))
    uids.push_back(entry.path().filename().string());
  for (const std::string& uid : uids) RecoverPod(uid);
  if (!options_.enforced.empty())
    FLYBALL_TRY(cgroups_.Make(pods_cgroup_, AllocatableLimits(options_.enforced)));
  return {};
}

void OciRuntime::RecoverPod(const std::string& uid) {
  const auto node = ReadFile(PodsFolder() + "/" + uid + "/node");
  const OciPodPtr pod = PodOf(uid, node ? *node : "");
  MutexLock work(pod->work);
  (void)Connect(*pod);
  std::error_code error;
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(pod->folder, error))
    if (entry.is_directory(error)) folders.push_back(entry.path().string());
  for (const std::string& folder : folders) RecoverContainer(pod, folder);
}

void OciRuntime::RecoverContainer(const OciPodPtr& pod, const std::string& folder) {
  auto container = std::make_shared<OciContainer>();
  container->pod = pod;
  container->bundle = ContainerBundle(folder);
  const auto record = container->bundle.ReadRecord();
  if (!record) return container->bundle.Remove();
  if (container->bundle.reaped()) return;
  container->record = *record;
  container->pid = container->bundle.ReadPid();
  container->start_time = container->pid > 0 ? ProcessStartTime(container->pid) : 0;
  container->exit = container->bundle.ReadExit();
  if (!container->exit && (!pod->connection || container->pid == 0)) {
    container->lost = true;
    container->exit = RecordedExit{SIGKILL, 0};
  }
  container->streams = std::make_shared<ContainerStreams>(record->id, record->stdin_once, record->tty,
                                                          pod->connection, monitors_);
  MutexLock lock(mu_);
  containers_[record->id] = container;
}

std::optional<AdoptedContainer> OciRuntime::Adopt(const std::string& pod_uid, const std::string& name,
                                                  UniqueFunction<void(ContainerExit)> exited) {
  OciContainerPtr latest;
  bool over = false;
  {
    MutexLock lock(mu_);
    for (const auto& [id, container] : containers_)
      if (container->pod->uid == pod_uid && container->record.name == name && !container->exited &&
          (!latest || latest->record.attempt < container->record.attempt))
        latest = container;
    if (!latest) return std::nullopt;
    over = latest->exit.has_value();
    if (exited) latest->exited = std::move(exited);
    if (!latest->exited) over = false;
  }
  if (over) workers_.Post([this, latest] { Finish(latest); });
  return AdoptedContainer{latest->record.id, latest->record.attempt, latest->record.started_at};
}

void OciRuntime::KillAll() {
  MutexLock lock(mu_);
  for (const auto& [id, container] : containers_)
    if (!container->exit && container->pid > 0 && ProcessStartTime(container->pid) == container->start_time)
      kill(container->pid, SIGKILL);
}

void OciRuntime::Shutdown() {
  if (options_.keep_on_shutdown) return;
  std::vector<std::string> uids;
  {
    MutexLock lock(mu_);
    for (const auto& [uid, pod] : pods_) uids.push_back(uid);
  }
  if (!uids.empty()) KillAll();
  for (const std::string& uid : uids) RemovePodNow(uid);
  if (!options_.cgroup_root.empty()) cgroups_.RemoveTree(options_.cgroup_root);
}

std::optional<std::string> WhyNoContainers() {
  if (geteuid() != 0) return "containers need root";
  if (Runc::FindProgram().empty()) return "no OCI runtime is installed: install runc";
  return std::nullopt;
}

Result<std::unique_ptr<OciContainers>> OpenOciRuntime(const OciRuntimeOptions& options, Executor& executor,
                                                      Random& random) {
  OciRuntimeOptions absolute = options;
  FLYBALL_TRY(MakePrivateFolder(options.data_dir));
  absolute.data_dir = fs::canonical(options.data_dir).string();
  FLYBALL_ASSIGN(ImageStore images, ImageStore::Open(absolute.data_dir + "/images"));
  FLYBALL_ASSIGN(OwnedFd monitor, OpenMonitorProgram());
  auto runtime =
      std::make_unique<OciRuntime>(absolute, executor, random, std::move(images), std::move(monitor));
  FLYBALL_TRY(runtime->Open());
  return std::unique_ptr<OciContainers>(std::move(runtime));
}

}  // namespace flyball::node
