#include "node/runtime/sim_runtime.h"

#include <csignal>
#include <unordered_map>

#include "base/run/mutex.h"
#include "node/runtime/sim_process.h"

namespace flyball::node {
namespace {

class SimRuntime final : public ContainerRuntime {
 public:
  SimRuntime(Executor& executor, Random& random, int subnet)
      : executor_(executor), random_(random), subnet_(subnet), state_(std::make_shared<State>()) {}

  std::string_view name() const override { return "sim"; }
  std::string_view version() const override { return "sim://0.1.0"; }
  bool real() const override { return false; }
  Result<std::optional<ReadyImage>> FindImage(const ImageRequest& request) override {
    if (!SimImageExists(request.image)) return std::optional<ReadyImage>();
    return std::optional(ReadyImage{.id = "sim://" + request.image});
  }
  Result<ReadyImage> PullImage(const ImageRequest& request) override {
    const std::string& image = request.image;
    return Unexpected(Error(Reason::kNotFound, "failed to pull and unpack image \"" + image +
                                                   "\": failed to resolve reference \"" + image +
                                                   "\": " + image + ": not found"));
  }

  Result<std::string> Start(const ContainerConfig& config,
                            UniqueFunction<void(ContainerExit)> exited) override {
    const std::string id = random_.Uuid();
    {
      MutexLock lock(state_->mu);
      state_->used[id];
      state_->running.emplace(id, std::move(exited));
    }
    if (const auto end = SimEndOf(config)) EndAfter(end->after, id, {.exit_code = end->exit_code});
    return id;
  }

  void Signal(const std::string& id, int signal) override {
    if (signal != SIGTERM && signal != SIGKILL) return;
    // A simulated process ends well when it is asked to.
    if (signal == SIGTERM) return EndAfter(kSimStopTime, id, {.exit_code = 0});
    EndAfter(Duration::zero(), id, {.exit_code = 137, .signal = SIGKILL});
  }

  void Exec(const std::string&, const std::vector<std::string>&, Duration,
            UniqueFunction<void(Result<ExecResult>)> done) override {
    done(ExecResult{});
  }
  Result<std::shared_ptr<StreamHandle>> OpenExec(const std::string&, const StreamRequest&,
                                                 StreamEvents) override {
    return Unexpected(NothingRuns());
  }
  Result<std::shared_ptr<StreamHandle>> Attach(const std::string&, const StreamRequest&,
                                               StreamEvents) override {
    return Unexpected(NothingRuns());
  }
  void ReadLog(const LogQuery&, LogSink sink) override { sink.done({}); }
  std::map<std::string, ResourceUsage> UsageOf(const std::vector<UsageQuery>& containers,
                                               TimePoint now) override;

  std::string AllocatePodIp(const std::string&) override {
    MutexLock lock(state_->mu);
    // .0 is the network, .1 the gateway, .255 the broadcast address, as in real ones.
    const int n = next_ip_++;
    const int block = subnet_ + n / 253;
    return "10." + std::to_string(64 + block / 256) + "." + std::to_string(block % 256) + "." +
           std::to_string(2 + n % 253);
  }
  void RemovePod(const std::string&, const std::string&, const std::string&) override {}
  void Shutdown() override {
    MutexLock lock(state_->mu);
    state_->running.clear();
    state_->used.clear();
  }

 private:
  struct State {
    Mutex mu;
    std::unordered_map<std::string, UniqueFunction<void(ContainerExit)>> running FLYBALL_GUARDED_BY(mu);
    std::unordered_map<std::string, ResourceUsage> used
        FLYBALL_GUARDED_BY(mu);  // by those that were asked about
  };
  static Error NothingRuns() {
    return Error(Reason::kUnknown, 501,
                 "the sim runtime runs no processes, so there is nothing to execute in or attach to: start "
                 "the node with --runtime native");
  }
  void EndAfter(Duration delay, const std::string& id, const ContainerExit& exit) {
    executor_.PostAfter(delay, [weak = std::weak_ptr<State>(state_), id, exit] {
      if (const auto state = weak.lock()) End(*state, id, exit);
    });
  }
  static void End(State& state, const std::string& id, const ContainerExit& exit) {
    UniqueFunction<void(ContainerExit)> exited;
    {
      MutexLock lock(state.mu);
      const auto found = state.running.find(id);
      if (found == state.running.end()) return;
      exited = std::move(found->second);
      state.running.erase(found);
      state.used.erase(id);
    }
    exited(exit);
  }

  Executor& executor_;
  Random& random_;
  const int subnet_;
  const std::shared_ptr<State> state_;
  int next_ip_ FLYBALL_GUARDED_BY(state_->mu) = 0;
};

// Processor time runs on at the rate that is true now, from the start on. Moments are whole milliseconds, as
// the nodes' documents say them: who divides what was used by the time between two of them gets the exact
// rate.
std::map<std::string, ResourceUsage> SimRuntime::UsageOf(const std::vector<UsageQuery>& containers,
                                                         TimePoint now) {
  using std::chrono::milliseconds;
  now = std::chrono::floor<milliseconds>(now);
  std::map<std::string, ResourceUsage> by_id;
  MutexLock lock(state_->mu);
  for (const UsageQuery& query : containers) {
    const auto found = state_->used.find(query.id);
    if (found == state_->used.end()) continue;
    ResourceUsage& usage = found->second;
    const SimUse use = SimUseOf(*query.pod, query.container);
    if (usage.at == TimePoint{}) usage.at = std::chrono::ceil<milliseconds>(query.started_at);
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - usage.at).count();
    // A milli of a processor for a millisecond is a thousand nanoseconds.
    if (elapsed > 0)
      usage.cpu_nanos +=
          static_cast<std::uint64_t>(elapsed) * static_cast<std::uint64_t>(use.cpu_milli) * 1000;
    usage.memory = usage.working_set = usage.rss = static_cast<std::uint64_t>(use.memory);
    usage.processes = 1;
    usage.at = std::max(usage.at, now);
    by_id[query.id] = usage;
  }
  return by_id;
}

}  // namespace

std::unique_ptr<ContainerRuntime> NewSimRuntime(Executor& executor, Random& random, int subnet) {
  return std::make_unique<SimRuntime>(executor, random, subnet);
}

}  // namespace flyball::node
