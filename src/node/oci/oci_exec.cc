// Commands beside a container, and its log.
#include "node/oci/oci_runtime_core.h"
#include "node/runtime/exec_run.h"
#include "node/runtime/log_reader.h"
#include "node/runtime/native_streams.h"
#include "node/stats/cgroup_usage.h"

namespace flyball::node {

void OciRuntime::Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
                      UniqueFunction<void(Result<ExecResult>)> done) {
  const auto open = [&](const StreamRequest& request, StreamEvents events) {
    return OpenExec(id, request, std::move(events));
  };
  RunExec(executor_, open, command, timeout, std::move(done));
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

std::map<std::string, ResourceUsage> OciRuntime::UsageOf(const std::vector<UsageQuery>& containers,
                                                         TimePoint now) {
  std::map<std::string, ResourceUsage> by_id;
  for (const UsageQuery& query : containers)
    if (const auto container = FindRunning(query.id))
      if (const auto usage = ReadCgroupUsage(container->record.cgroup_path, now)) by_id[query.id] = *usage;
  return by_id;
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

}  // namespace flyball::node
