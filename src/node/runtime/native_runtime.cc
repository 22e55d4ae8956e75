#include "node/runtime/native_runtime.h"

#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "node/runtime/container_log.h"
#include "node/runtime/exec_run.h"
#include "node/runtime/listening_port.h"
#include "node/runtime/log_reader.h"
#include "node/runtime/native_process.h"
#include "node/runtime/native_streams.h"
#include "node/runtime/orphan_processes.h"
#include "node/stats/process_usage.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// As kubelet's folders: nothing of a pod is for other users of the machine.
constexpr mode_t kFolderMode = 0750;
constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct RunningContainer {
  pid_t pid = 0;
  ProcessSpec spec;  // where an exec runs
  std::shared_ptr<AttachedClients> clients;
};

class NativeRuntime final : public ContainerRuntime {
 public:
  NativeRuntime(const NativeRuntimeOptions& options, Executor& executor, Random& random)
      : options_(options), executor_(executor), random_(random), state_(std::make_shared<State>()) {}
  ~NativeRuntime() override { Shutdown(); }

  Status Open() {
    std::error_code error;
    fs::create_directories(options_.data_dir, error);
    if (error) return Unexpected(InternalError(options_.data_dir + ": " + error.message()));
    ::chmod(options_.data_dir.c_str(), kFolderMode);
    options_.data_dir = fs::canonical(options_.data_dir).string();
    if (const int killed = KillLeftovers(ContainersDir(), options_.data_dir); killed > 0)
      log::Info("killed processes of an earlier agent", {{"count", std::to_string(killed)}});
    fs::create_directories(ContainersDir(), error);
    if (error) return Unexpected(InternalError(ContainersDir() + ": " + error.message()));
    ::chmod(ContainersDir().c_str(), kFolderMode);
    return {};
  }

  std::string_view name() const override { return "native"; }
  std::string_view version() const override { return "native://0.1.0"; }
  bool real() const override { return true; }

  Result<std::optional<ReadyImage>> FindImage(const ImageRequest& request) override {
    if (!IsHostImage(request.image)) return std::optional<ReadyImage>();
    return std::optional(ReadyImage{.id = "native://host"});
  }
  Result<ReadyImage> PullImage(const ImageRequest& request) override {
    return Unexpected(Error(Reason::kNotFound,
                            "image \"" + request.image +
                                "\" cannot run here: containers need root and an OCI runtime (install runc). "
                                "Use image `host` with a command to run a program of this machine, or start "
                                "the node with --runtime sim"));
  }

  Result<std::string> Start(const ContainerConfig& config,
                            UniqueFunction<void(ContainerExit)> exited) override {
    if (config.command.empty() && config.args.empty())
      return Unexpected(BadRequest("no command specified: image `host` has none of its own"));
    DropOldLogs(config);
    const std::string id = NewId();
    ProcessSpec spec = SpecOf(config);
    spec.input = config.stdin;
    spec.terminal = config.tty;
    auto clients = std::make_shared<AttachedClients>(config.stdin_once);
    auto log = std::make_shared<ContainerLog>(
        LogPath(config.pod_namespace, config.pod_name, config.pod_uid, config.name, config.attempt),
        options_.log_limits, executor_.clock());
    ProcessEvents events;
    events.output = [log, clients](Stream stream, std::string_view data) {
      log->Append(stream, data);
      clients->Output(stream, data);
    };
    events.input_taken = [clients](std::size_t bytes) { clients->InputTaken(bytes); };
    events.exited = [state = state_, log, clients, id, record = RecordPath(id),
                     exited = std::move(exited)](int status) {
      log->Close();
      clients->Ended(ExitOf(status));
      std::error_code ignored;
      fs::remove(record, ignored);
      {
        MutexLock lock(state->mu);
        state->running.erase(id);
        if (state->running.empty()) state->drained.NotifyAll();
      }
      exited(ExitOf(status));
    };
    // The entry is there before the process can end.
    {
      MutexLock lock(state_->mu);
      state_->running[id] = {0, spec, clients};
      state_->logs[LogKey(config.pod_uid, config.name)] = {config.attempt, log};
    }
    const auto pid = loop_->Spawn(spec, std::move(events));
    MutexLock lock(state_->mu);
    const auto entry = state_->running.find(id);
    if (!pid) {
      state_->running.erase(id);
      log->Close();
      return Unexpected(pid.error());
    }
    if (entry != state_->running.end()) {
      entry->second.pid = *pid;
      std::ofstream(RecordPath(id)) << *pid << ' ' << ProcessStartTime(*pid) << '\n';
    }
    return id;
  }

  void Signal(const std::string& id, int signal) override {
    pid_t pid = 0;
    {
      MutexLock lock(state_->mu);
      const auto found = state_->running.find(id);
      if (found != state_->running.end()) pid = found->second.pid;
    }
    if (pid > 0) loop_->Signal(pid, signal);
  }

  void Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
            UniqueFunction<void(Result<ExecResult>)> done) override;
  Result<std::shared_ptr<StreamHandle>> OpenExec(const std::string& id, const StreamRequest& request,
                                                 StreamEvents events) override;
  Result<std::shared_ptr<StreamHandle>> Attach(const std::string& id, const StreamRequest& request,
                                               StreamEvents events) override;
  void ReadLog(const LogQuery& query, LogSink sink) override;
  std::map<std::string, ResourceUsage> UsageOf(const std::vector<UsageQuery>& containers,
                                               TimePoint now) override;

  std::string AllocatePodIp(const std::string&) override { return options_.pod_ip; }
  bool MayForwardTo(const std::string& pod_uid, int port) override {
    return ListensAt(port, [&](pid_t pid) { return HasInEnvironment(pid, kPodVariable, pod_uid); });
  }

  void RemovePod(const std::string& ns, const std::string& pod, const std::string& uid) override {
    std::error_code ignored;
    fs::remove_all(options_.data_dir + "/logs/" + ns + "_" + pod + "_" + uid, ignored);
    fs::remove_all(options_.data_dir + "/pods/" + uid, ignored);
    MutexLock lock(state_->mu);
    std::erase_if(state_->logs, [&](const auto& entry) { return entry.first.starts_with(uid + "/"); });
  }

  void Shutdown() override {
    std::vector<pid_t> pids;
    {
      MutexLock lock(state_->mu);
      for (const auto& [id, container] : state_->running) pids.push_back(container.pid);
    }
    for (const pid_t pid : pids)
      if (pid > 0) loop_->Signal(pid, SIGKILL);
    MutexLock lock(state_->mu);
    while (!state_->running.empty()) state_->drained.Wait(state_->mu);
  }

 private:
  struct LogEntry {
    int attempt = 0;
    std::shared_ptr<ContainerLog> log;
  };
  struct State {
    Mutex mu;
    CondVar drained;
    std::map<std::string, RunningContainer> running FLYBALL_GUARDED_BY(mu);
    std::map<std::string, LogEntry> logs FLYBALL_GUARDED_BY(mu);  // of the latest start of each container
  };

  Result<RunningContainer> Find(const std::string& id) {
    MutexLock lock(state_->mu);
    const auto found = state_->running.find(id);
    if (found == state_->running.end())
      return Unexpected(Error(Reason::kNotFound, "container is not running"));
    return found->second;
  }
  std::string ContainersDir() const { return options_.data_dir + "/containers"; }
  std::string RecordPath(const std::string& id) const { return ContainersDir() + "/" + id; }
  static std::string LogKey(const std::string& uid, const std::string& container) {
    return uid + "/" + container;
  }
  std::string LogPath(const std::string& ns, const std::string& pod, const std::string& uid,
                      const std::string& container, int attempt) const {
    return options_.data_dir + "/logs/" + ns + "_" + pod + "_" + uid + "/" + container + "/" +
           std::to_string(attempt) + ".log";
  }
  // The log of the start before this one stays, for `kubectl logs --previous`; a container that fails again
  // and again does not fill the disk.
  void DropOldLogs(const ContainerConfig& config) const {
    std::error_code ignored;
    for (int attempt = config.attempt - 2; attempt >= 0; --attempt) {
      const auto segments =
          LogSegments(LogPath(config.pod_namespace, config.pod_name, config.pod_uid, config.name, attempt));
      if (segments.empty()) return;
      for (const std::string& segment : segments) fs::remove(segment, ignored);
    }
  }
  std::string NewId() {
    std::string id = random_.Uuid() + random_.Uuid();
    std::erase(id, '-');
    return id;
  }

  ProcessSpec SpecOf(const ContainerConfig& config) const {
    ProcessSpec spec{.argv = config.command,
                     .working_dir = config.working_dir,
                     .network_namespace = config.network_namespace};
    spec.argv.insert(spec.argv.end(), config.args.begin(), config.args.end());
    if (spec.working_dir.empty()) {
      spec.working_dir = options_.data_dir + "/pods/" + config.pod_uid + "/" + config.name;
      std::error_code ignored;
      fs::create_directories(spec.working_dir, ignored);
      ::chmod((options_.data_dir + "/pods/" + config.pod_uid).c_str(), kFolderMode);
    }
    const char* path = std::getenv("PATH");
    const char* home = std::getenv("HOME");
    spec.env = {
        {"PATH", path ? path : kDefaultPath}, {"HOME", home ? home : "/"}, {"HOSTNAME", config.pod_name}};
    auto variables = config.env;
    // Last, so that no container says it is another's.
    variables.insert(variables.end(), {{kOwnerVariable, options_.data_dir}, {kPodVariable, config.pod_uid}});
    for (const auto& variable : variables) {
      std::erase_if(spec.env, [&](const auto& known) { return known.first == variable.first; });
      spec.env.push_back(variable);
    }
    return spec;
  }

  NativeRuntimeOptions options_;
  Executor& executor_;
  Random& random_;
  const std::shared_ptr<State> state_;
  // Apart from the state: closures on its thread hold that, and it cannot be destroyed on its own thread.
  const std::shared_ptr<ProcessLoop> loop_ = std::make_shared<ProcessLoop>();
};

void NativeRuntime::Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
                         UniqueFunction<void(Result<ExecResult>)> done) {
  const auto open = [&](const StreamRequest& request, StreamEvents events) {
    return OpenExec(id, request, std::move(events));
  };
  RunExec(executor_, open, command, timeout, std::move(done));
}

Result<std::shared_ptr<StreamHandle>> NativeRuntime::OpenExec(const std::string& id,
                                                              const StreamRequest& request,
                                                              StreamEvents events) {
  FLYBALL_ASSIGN(const RunningContainer container, Find(id));
  return StartExec(loop_, ExecSpec(container.spec, request), std::move(events));
}

Result<std::shared_ptr<StreamHandle>> NativeRuntime::Attach(const std::string& id,
                                                            const StreamRequest& request,
                                                            StreamEvents events) {
  FLYBALL_ASSIGN(const RunningContainer container, Find(id));
  return AttachedClients::Add(container.clients, loop_, container.pid, request, std::move(events));
}

// Each is the leader of a session.
std::map<std::string, ResourceUsage> NativeRuntime::UsageOf(const std::vector<UsageQuery>& containers,
                                                            TimePoint now) {
  std::map<std::string, pid_t> pids;
  std::set<pid_t> sessions;
  for (const UsageQuery& query : containers)
    if (const auto container = Find(query.id); container && container->pid > 0) {
      pids[query.id] = container->pid;
      sessions.insert(container->pid);
    }
  const auto usage = ReadSessionUsage(sessions, now);
  std::map<std::string, ResourceUsage> by_id;
  for (const auto& [id, pid] : pids)
    if (const auto found = usage.find(pid); found != usage.end()) by_id[id] = found->second;
  return by_id;
}

void NativeRuntime::ReadLog(const LogQuery& query, LogSink sink) {
  auto pump = std::make_shared<LogPump>(
      LogPath(query.pod_namespace, query.pod_name, query.pod_uid, query.container, query.attempt), query,
      std::move(sink), executor_);
  std::shared_ptr<ContainerLog> live;
  {
    MutexLock lock(state_->mu);
    const auto found = state_->logs.find(LogKey(query.pod_uid, query.container));
    if (found != state_->logs.end() && found->second.attempt == query.attempt) live = found->second.log;
  }
  if (query.follow && live)
    live->Follow([pump](bool closed) { return pump->Wake(closed); });
  else
    pump->Wake(true);
}

}  // namespace

Result<std::unique_ptr<ContainerRuntime>> NewNativeRuntime(const NativeRuntimeOptions& options,
                                                           Executor& executor, Random& random) {
  auto runtime = std::make_unique<NativeRuntime>(options, executor, random);
  FLYBALL_TRY(runtime->Open());
  return std::unique_ptr<ContainerRuntime>(std::move(runtime));
}

}  // namespace flyball::node
