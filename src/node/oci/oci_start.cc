// How a container is started.
#include "node/oci/oci_config.h"
#include "node/oci/oci_runtime_core.h"
#include "node/oci/pod_sandbox.h"
#include "node/runtime/log_files.h"

namespace flyball::node {

Status OciRuntime::EnsureSandbox(OciPod& pod, const Pod& spec) {
  if (pod.connection && pod.connection->Send('?', {})) return {};
  FLYBALL_TRY(cgroups_.Make(CgroupOf(spec), PodCgroupLimits(spec, options_.pod_max_pids)));
  cgroups_.BalanceClasses(pods_cgroup_);
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
  input.seccomp_folder = options_.data_dir + "/seccomp";
  if (SharesPids(*config.pod)) {
    input.pause = PausePid(container.pod->folder);
    if (input.pause <= 0) return Unexpected(InternalError("the pod's shared PID namespace is gone"));
  }
  const std::vector<std::string> shared = {options_.pod_ip};
  FLYBALL_ASSIGN(input.mounts, WriteNameFiles(container.pod->folder, *config.pod,
                                              config.pod_ips.empty() ? shared : config.pod_ips, config.dns));
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
            .message_from_log = config.spec->termination_message_policy == "FallbackToLogsOnError",
            .started_at = executor_.clock().Now()};
  record.cgroup_path = CgroupOf(*config.pod) + "/" + record.id;
  if (config.spec->lifecycle && config.spec->lifecycle->stop_signal)
    record.stop_signal = *config.spec->lifecycle->stop_signal;
  if (const Status written = WriteBundle(config, image, *container); !written) {
    container->bundle.Remove();
    images_.Release(record.id);
    return Unexpected(written.error());
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(record.log_path).parent_path(), ignored);
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
    for (const std::string& segment : LogSegments(record->log_path))
      std::filesystem::remove(segment, ignored);
  }
}

}  // namespace flyball::node
