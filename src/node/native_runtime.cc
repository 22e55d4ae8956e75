#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/log.h"
#include "base/mutex.h"
#include "node/container_runtime.h"
#include "node/process_group.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHostImage = "host";

ContainerExit ExitOf(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

// <folder>/<pod uid>/<container>.pid holds "pid start-ticks" of the running process;
// <container>.<attempt>.log its output.
class NativeRuntime final : public ContainerRuntime {
 public:
  NativeRuntime(Executor& executor, std::string folder, std::string host_address)
      : executor_(executor), folder_(std::move(folder)), host_address_(std::move(host_address)) {}

  std::string name() const override { return "native://1.0"; }

  Status CheckImage(const std::string& image) override {
    if (image == kHostImage) return {};
    return Unexpected(Error(
        Reason::kNotFound,
        "image \"" + image +
            "\" is not here: the native runtime has no images to pull from yet. Use image \"host\" to run "
            "the command on this machine's own files, or start flyball with --runtime sim"));
  }

  Status Start(const ContainerSpec& spec, UniqueFunction<void(ContainerExit)> on_exit) override {
    if (spec.argv.empty())
      return Unexpected(BadRequest(
          "no command specified: image \"host\" has none of its own, so the container must name one"));
    std::error_code ec;
    fs::create_directories(folder_ + "/" + spec.pod_uid, ec);
    ProcessSpec process{spec.argv, spec.env, spec.working_dir,
                        LogPath(spec.pod_uid, spec.name, spec.attempt)};
    FLYBALL_ASSIGN(const pid_t pid, StartProcess(process));
    WriteState(spec, pid);
    {
      MutexLock lock(mu_);
      running_[{spec.pod_uid, spec.name}] = pid;
    }
    auto& executor = executor_;
    return watcher_.Watch(pid, [this, &executor, key = Key(spec.pod_uid, spec.name), pid,
                                on_exit = std::move(on_exit)](int status) mutable {
      // Whatever it started and left behind goes with it.
      SignalGroup(pid, SIGKILL);
      Forget(key);
      executor.Post([status, on_exit = std::move(on_exit)] { on_exit(ExitOf(status)); });
    });
  }

  void Stop(const std::string& pod_uid, const std::string& container, bool kill) override {
    MutexLock lock(mu_);
    const auto it = running_.find({pod_uid, container});
    if (it != running_.end()) SignalGroup(it->second, kill ? SIGKILL : SIGTERM);
  }

  void RemovePod(const std::string& pod_uid) override {
    std::error_code ec;
    fs::remove_all(folder_ + "/" + pod_uid, ec);
  }

  std::string LogPath(const std::string& pod_uid, const std::string& container, int attempt) const override {
    return folder_ + "/" + pod_uid + "/" + container + "." + std::to_string(attempt) + ".log";
  }

  std::string PodAddress() override { return host_address_; }

  // Ends what an earlier run of the program left running.
  void KillLeftovers() {
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, ec)) {
      if (entry.path().extension() != ".pid") continue;
      std::ifstream file(entry.path());
      pid_t pid = 0;
      unsigned long long ticks = 0;
      if (file >> pid >> ticks && pid > 1 && ticks != 0 && StartTicks(pid) == ticks) {
        log::Info("ending a process that an earlier run left behind", {{"pid", std::to_string(pid)}});
        SignalGroup(pid, SIGKILL);
      }
      fs::remove(entry.path(), ec);
    }
  }

  ~NativeRuntime() override {
    MutexLock lock(mu_);
    for (const auto& [key, pid] : running_) SignalGroup(pid, SIGKILL);
  }

 private:
  using Key = std::pair<std::string, std::string>;

  std::string StatePath(const Key& key) const {
    return folder_ + "/" + key.first + "/" + key.second + ".pid";
  }

  void WriteState(const ContainerSpec& spec, pid_t pid) const {
    std::ofstream file(StatePath({spec.pod_uid, spec.name}), std::ios::trunc);
    file << pid << ' ' << StartTicks(pid) << '\n';
  }

  void Forget(const Key& key) {
    {
      MutexLock lock(mu_);
      running_.erase(key);
    }
    std::error_code ec;
    fs::remove(StatePath(key), ec);
  }

  Executor& executor_;
  const std::string folder_, host_address_;
  Mutex mu_;
  std::map<Key, pid_t> running_ GUARDED_BY(mu_);
  ProcessWatcher watcher_;
};

}  // namespace

Result<std::unique_ptr<ContainerRuntime>> NewNativeRuntime(Executor& executor, const std::string& folder,
                                                           const std::string& host_address) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) return Unexpected(InternalError("cannot make the folder " + folder + ": " + ec.message()));
  auto runtime = std::make_unique<NativeRuntime>(executor, folder, host_address);
  runtime->KillLeftovers();
  return std::unique_ptr<ContainerRuntime>(std::move(runtime));
}

}  // namespace flyball::node
