#include <map>

#include "base/mutex.h"
#include "node/container_runtime.h"

namespace flyball::node {
namespace {

constexpr int kTerminated = 143;  // 128 + SIGTERM, as a process that obeys would show

class SimRuntime final : public ContainerRuntime {
 public:
  explicit SimRuntime(Executor& executor) : executor_(executor) {}

  std::string name() const override { return "sim://1.0"; }
  Status CheckImage(const std::string&) override { return {}; }

  Status Start(const ContainerSpec& spec, UniqueFunction<void(ContainerExit)> on_exit) override {
    MutexLock lock(mu_);
    running_[{spec.pod_uid, spec.name}] = std::move(on_exit);
    return {};
  }

  void Stop(const std::string& pod_uid, const std::string& container, bool) override {
    UniqueFunction<void(ContainerExit)> on_exit;
    {
      MutexLock lock(mu_);
      const auto it = running_.find({pod_uid, container});
      if (it == running_.end()) return;
      on_exit = std::move(it->second);
      running_.erase(it);
    }
    executor_.Post([on_exit = std::move(on_exit)] { on_exit({kTerminated, 15}); });
  }

  void RemovePod(const std::string&) override {}
  std::string LogPath(const std::string&, const std::string&, int) const override { return {}; }

  std::string PodAddress() override {
    MutexLock lock(mu_);
    const unsigned n = next_address_++;
    return "10.244." + std::to_string((n >> 8) & 255) + "." + std::to_string(n & 255);
  }

 private:
  Executor& executor_;
  Mutex mu_;
  std::map<std::pair<std::string, std::string>, UniqueFunction<void(ContainerExit)>> running_ GUARDED_BY(mu_);
  unsigned next_address_ GUARDED_BY(mu_) = 2;
};

}  // namespace

std::unique_ptr<ContainerRuntime> NewSimRuntime(Executor& executor) {
  return std::make_unique<SimRuntime>(executor);
}

}  // namespace flyball::node
