// ContainerRuntime: what actually runs containers. `sim` only says so; `native` starts a real process for
// each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"

namespace flyball::node {

struct ContainerSpec {
  std::string pod_uid, pod_namespace, pod_name, name, image;
  std::vector<std::string> argv;  // command and arguments
  std::vector<std::pair<std::string, std::string>> env;
  std::string working_dir;
  int attempt = 0;  // 0 for the first start, then the number of restarts
};

struct ContainerExit {
  int exit_code = 0;
  int signal = 0;  // of a killed process; exit_code is then 128 + signal
};

// Thread-safe. Callbacks come on the executor the runtime was made with.
class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  virtual std::string name() const = 0;  // as nodeInfo.containerRuntimeVersion shows it
  // OK if the image can be started here; else an error whose message says what to do.
  virtual Status CheckImage(const std::string& image) = 0;
  // Starts it; on_exit is called once when it has ended. An error: it did not start, on_exit is not called.
  virtual Status Start(const ContainerSpec& spec, UniqueFunction<void(ContainerExit)> on_exit) = 0;
  // Asks it to end (SIGTERM), or ends it (SIGKILL). Nothing happens if it does not run.
  virtual void Stop(const std::string& pod_uid, const std::string& container, bool kill) = 0;
  // Everything of a pod that is gone: logs, folders.
  virtual void RemovePod(const std::string& pod_uid) = 0;
  // The log file of an attempt; "" if the runtime keeps none.
  virtual std::string LogPath(const std::string& pod_uid, const std::string& container,
                              int attempt) const = 0;
  // An address for a new pod.
  virtual std::string PodAddress() = 0;
};

// Nothing runs; containers count as running until they are stopped. For testing controllers and schedulers.
std::unique_ptr<ContainerRuntime> NewSimRuntime(Executor& executor);

// A process a container, on the machine's own files: image `host` only. Logs and state live under `folder`.
// Processes that an earlier run left behind are killed here, so that no pod runs twice.
Result<std::unique_ptr<ContainerRuntime>> NewNativeRuntime(Executor& executor, const std::string& folder,
                                                           const std::string& host_address);

}  // namespace flyball::node
