#include "node/oci/oci_runtime.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "node/images/image_store.h"
#include "node/oci/monitor_program.h"
#include "node/oci/oci_config.h"
#include "node/oci/oci_state.h"
#include "node/oci/pod_sandbox.h"
#include "node/oci/runc.h"
#include "node/runtime/container_log.h"
#include "node/runtime/listening_port.h"
#include "node/runtime/log_reader.h"
#include "node/runtime/native_streams.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// Starts of different pods at once.
constexpr int kWorkers = 4;
constexpr std::size_t kMaxProbeOutput = 10240;

using OciContainerPtr = std::shared_ptr<OciContainer>;
using OciPodPtr = std::shared_ptr<OciPod>;

int SignalNumber(const std::string& name) {
  const std::string bare = name.starts_with("SIG") ? name.substr(3) : name;
  for (int signal = 1; signal < NSIG; ++signal)
    if (const char* known = sigabbrev_np(signal); known && bare == known) return signal;
  const int number = std::atoi(bare.c_str());
  return number > 0 && number <= SIGRTMAX ? number : SIGTERM;
}

class OciRuntime final : public OciContainers {
 public:
  OciRuntime(const OciRuntimeOptions& options, Executor& executor, Random& random, ImageStore images,
             OwnedFd monitor)
      : options_(options),
        executor_(executor),
        random_(random),
        images_(std::move(images)),
        monitor_program_(std::move(monitor)),
        runc_(Runc::FindProgram(), options.data_dir + "/oci/runc", processes_) {}
  ~OciRuntime() override {
    Shutdown();
    workers_.Stop();
  }

  Status Open();

  std::string_view name() const override { return "native"; }
  std::string_view version() const override { return "native://0.1.0"; }
  bool real() const override { return true; }
  Executor* executor() override { return &workers_; }

  Result<ReadyImage> EnsureImage(const ImageRequest& request) override {
    FLYBALL_TRY(ImageReference::Parse(request.image));
    FLYBALL_ASSIGN(const StoredImage image, images_.Find(request.image));
    return ReadyImage{.id = image.id, .size = image.size};
  }
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
      fs::remove_all(logs, ignored);
    });
  }
  void Shutdown() override;

  bool Knows(const std::string& id) const override { return Find(id) != nullptr; }
  bool KnowsPod(const std::string& pod_uid) const override {
    MutexLock lock(mu_);
    return pods_.contains(pod_uid);
  }

 private:
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
  void KillAll();

  OciRuntimeOptions options_;
  Executor& executor_;
  Random& random_;
  ImageStore images_;
  const OwnedFd monitor_program_;
  const std::shared_ptr<ProcessLoop> processes_ = std::make_shared<ProcessLoop>();
  const Runc runc_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<std::string, OciPodPtr> pods_ FLYBALL_GUARDED_BY(mu_);              // by UID
  std::map<std::string, OciContainerPtr> containers_ FLYBALL_GUARDED_BY(mu_);  // by id
  const std::shared_ptr<MonitorLoop> monitors_ = std::make_shared<MonitorLoop>();
  ThreadPool workers_{"containers", kWorkers};
};

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

Status OciRuntime::EnsureSandbox(OciPod& pod, const Pod& spec) {
  if (pod.connection && pod.connection->Send('?', {})) return {};
  FLYBALL_ASSIGN(pod.monitor, EnsureMonitor(*processes_, monitor_program_.get(), pod.folder, spec));
  FLYBALL_TRY(WriteFileDurably(pod.folder + "/node", spec.spec.node_name));
  return Connect(pod);
}

Status OciRuntime::WriteBundle(const ContainerConfig& config, const StoredImage& image,
                               const OciContainer& container) {
  FLYBALL_TRY(images_.Use(container.record.id, image));
  FLYBALL_TRY(container.bundle.Make(image));
  OciConfigInput input{
      .container = config, .image = image.config, .user = {}, .cgroup_path = container.record.cgroup_path};
  FLYBALL_ASSIGN(input.user,
                 ResolveUser(*config.pod, *config.spec, image.config.user, container.bundle.rootfs()));
  input.monitor = container.pod->monitor;
  FLYBALL_ASSIGN(input.mounts, WriteNameFiles(container.pod->folder, *config.pod, options_.pod_ip));
  const std::string& message = config.spec->termination_message_path;
  input.mounts.push_back({.source = container.bundle.termination_log(),
                          .target = message.empty() ? "/dev/termination-log" : message});
  for (const ContainerMount& mount : config.mounts) {
    std::erase_if(input.mounts, [&](const ContainerMount& known) { return known.target == mount.target; });
    input.mounts.push_back(mount);
  }
  FLYBALL_ASSIGN(const json::Value document, MakeOciConfig(input));
  FLYBALL_TRY(container.bundle.WriteConfig(document));
  return container.bundle.WriteRecord(container.record);
}

Result<OciContainerPtr> OciRuntime::Prepare(const ContainerConfig& config, const OciPodPtr& pod) {
  FLYBALL_ASSIGN(const StoredImage image, images_.Find(config.image));
  FLYBALL_TRY(EnsureSandbox(*pod, *config.pod));
  DropOldStarts(config, *pod);
  auto container = std::make_shared<OciContainer>();
  container->pod = pod;
  container->bundle = ContainerBundle(pod->folder + "/" + config.name + "-" + std::to_string(config.attempt));
  ContainerRecord& record = container->record;
  record = {.id = NewId(),
            .name = config.name,
            .image = image.name,
            .log_path = LogFolder(config.pod_namespace, config.pod_name, config.pod_uid) + "/" + config.name +
                        "/" + std::to_string(config.attempt) + ".log",
            .stop_signal = image.config.stop_signal,
            .attempt = config.attempt,
            .tty = config.tty,
            .stdin = config.stdin,
            .stdin_once = config.stdin_once,
            .started_at = executor_.clock().Now()};
  record.cgroup_path = PodCgroup(*config.pod) + "/" + record.id;
  if (config.spec->lifecycle && config.spec->lifecycle->stop_signal)
    record.stop_signal = *config.spec->lifecycle->stop_signal;
  if (const Status written = WriteBundle(config, image, *container); !written) {
    container->bundle.Remove();
    images_.Release(record.id);
    return Unexpected(written.error());
  }
  std::error_code ignored;
  fs::create_directories(fs::path(record.log_path).parent_path(), ignored);
  container->streams = std::make_shared<ContainerStreams>(record.id, record.stdin_once, record.tty,
                                                          pod->connection, monitors_);
  return container;
}

Status OciRuntime::RunContainer(const OciContainerPtr& container) {
  const ContainerRecord& record = container->record;
  auto starting = std::make_shared<Notification<Result<pid_t>>>();
  container->starting = starting;
  {
    MutexLock lock(mu_);
    containers_[record.id] = container;
  }
  const bool sent = container->pod->connection->Send(
      'R', {record.id, container->bundle.folder(), record.tty ? "1" : "0", record.stdin ? "1" : "0",
            record.log_path, std::to_string(options_.log_limits.max_size),
            std::to_string(options_.log_limits.max_files), runc_.program(), runc_.root()});
  if (!sent) starting->Set(Unexpected(InternalError("the pod's monitor has ended")));
  const Result<pid_t> pid = starting->Wait();
  if (pid) {
    MutexLock lock(mu_);
    container->pid = *pid;
    container->start_time = ProcessStartTime(*pid);
    return {};
  }
  {
    MutexLock lock(mu_);
    containers_.erase(record.id);
  }
  runc_.Delete(record.id);
  container->bundle.Remove();
  images_.Release(record.id);
  const std::string& why = pid.error().message();
  if (why.find("unable to start container process") == std::string::npos) return Unexpected(pid.error());
  return Unexpected(Error(Reason::kInternalError, 500,
                          "failed to create containerd task: failed to create shim task: "
                          "OCI runtime create failed: " +
                              why + ": unknown",
                          ErrorDetails{.causes = {{kStartErrorCause, why, ""}}}));
}

Result<std::string> OciRuntime::Start(const ContainerConfig& config,
                                      UniqueFunction<void(ContainerExit)> exited) {
  const OciPodPtr pod = PodOf(config.pod_uid, config.pod->spec.node_name);
  MutexLock work(pod->work);
  FLYBALL_ASSIGN(const OciContainerPtr container, Prepare(config, pod));
  container->exited = std::move(exited);
  FLYBALL_TRY(RunContainer(container));
  return container->record.id;
}

// What is kept is the start before, for `kubectl logs --previous`.
void OciRuntime::DropOldStarts(const ContainerConfig& config, const OciPod& pod) {
  for (int attempt = config.attempt - 1; attempt >= 0; --attempt) {
    const ContainerBundle old(pod.folder + "/" + config.name + "-" + std::to_string(attempt));
    const auto record = old.ReadRecord();
    if (!record) return;
    old.Remove();
    if (attempt > config.attempt - 2) continue;
    std::error_code ignored;
    for (const std::string& segment : LogSegments(record->log_path)) fs::remove(segment, ignored);
  }
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
  // The monitor waits for its last child; what is left of the pod's cgroup is empty.
  fs::remove_all(pod->folder, error);
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

// ---- exec and logs ----

void OciRuntime::Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
                      UniqueFunction<void(Result<ExecResult>)> done) {
  struct Run {
    Mutex mu;
    ExecResult result FLYBALL_GUARDED_BY(mu);
    TimerId timer FLYBALL_GUARDED_BY(mu) = kNoTimer;
    UniqueFunction<void(Result<ExecResult>)> done;
  };
  auto run = std::make_shared<Run>();
  run->done = std::move(done);
  StreamEvents events;
  events.output = [run](Stream, std::string_view data) {
    MutexLock lock(run->mu);
    run->result.output.append(
        data.substr(0, kMaxProbeOutput - std::min(kMaxProbeOutput, run->result.output.size())));
  };
  events.input_taken = [](std::size_t) {};
  events.ended = [run, &executor = executor_](const ContainerExit& exit) {
    ExecResult result;
    {
      MutexLock lock(run->mu);
      run->result.exit_code = exit.exit_code;
      if (run->timer != kNoTimer) executor.Cancel(run->timer);
      result = std::move(run->result);
    }
    run->done(std::move(result));
  };
  const auto handle = OpenExec(id, {.command = command, .stdout = true, .stderr = true}, std::move(events));
  if (!handle) return run->done(Unexpected(handle.error()));
  MutexLock lock(run->mu);
  run->timer = executor_.PostAfter(timeout, [run, handle = *handle] {
    {
      MutexLock timed(run->mu);
      run->result.timed_out = true;
    }
    handle->Stop();
  });
}

Result<std::shared_ptr<StreamHandle>> OciRuntime::OpenExec(const std::string& id,
                                                           const StreamRequest& request,
                                                           StreamEvents events) {
  const auto container = FindRunning(id);
  if (!container) return Unexpected(Error(Reason::kNotFound, "container is not running"));
  const std::string pid_file = container->bundle.folder() + "/exec-" + NewId().substr(0, 16);
  const ProcessSpec spec = runc_.ExecSpec(id, request, pid_file);
  auto shared = std::make_shared<const StreamEvents>(std::move(events));
  StreamEvents passed{.output = shared->output, .input_taken = shared->input_taken, .ended = {}};
  passed.ended = [shared, pid_file](const ContainerExit& exit) {
    unlink(pid_file.c_str());
    shared->ended(exit);
  };
  FLYBALL_ASSIGN(auto handle, StartExec(processes_, spec, std::move(passed)));
  return WrapExec(std::move(handle), pid_file);
}

void OciRuntime::ReadLog(const LogQuery& query, LogSink sink) {
  const std::string path = LogFolder(query.pod_namespace, query.pod_name, query.pod_uid) + "/" +
                           query.container + "/" + std::to_string(query.attempt) + ".log";
  auto pump = std::make_shared<LogPump>(path, query, std::move(sink), executor_);
  OciContainerPtr live;
  {
    MutexLock lock(mu_);
    for (const auto& [id, container] : containers_)
      if (container->record.log_path == path && !container->exit) live = container;
  }
  if (query.follow && live)
    live->streams->Follow([pump](bool closed) { return pump->Wake(closed); });
  else
    pump->Wake(true);
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
  if (uids.empty()) return;
  KillAll();
  for (const std::string& uid : uids) RemovePodNow(uid);
}

}  // namespace

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
