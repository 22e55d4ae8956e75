// ContainerProber: asks the startup, readiness and liveness probes of one running container.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/executor.h"
#include "node/pod/probe_request.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

enum class ProbeKind { kStartup, kReadiness, kLiveness };
std::string_view ProbeName(ProbeKind kind);  // "Startup"

// What the prober's owner is told, on the strand.
struct ProbeEvents {
  std::function<void()> started;          // the startup probe has succeeded, or there is none
  std::function<void(bool ready)> ready;  // the readiness changed
  std::function<void(ProbeKind kind, const std::string& message)> unhealthy;  // one failure
  std::function<void(ProbeKind kind)> failed;  // too many: the container has to be restarted
};

// Confined to the strand it is given. Owned by shared_ptr; Stop before dropping it.
class ContainerProber : public std::enable_shared_from_this<ContainerProber> {
 public:
  struct Parts {
    std::shared_ptr<const void> owner;  // keeps the others
    Executor& strand;
    Executor& blocking;
    ContainerRuntime& runtime;
  };
  ContainerProber(Parts parts, std::shared_ptr<const Pod> pod, const Container& container,
                  std::string container_id, std::string pod_ip, ProbeEvents events);

  void Start();
  void Stop();

 private:
  struct Run {
    ProbeKind kind;
    const Probe* probe;
    int successes = 0, failures = 0;
    bool passed = false;
    TimerId timer = kNoTimer;
  };
  void StartOthers();
  void Begin(ProbeKind kind, const Probe& probe);
  void Arm(Run& run, Duration delay);
  void Ask(Run& run);
  void Answered(Run& run, const ProbeAnswer& answer);
  void Succeeded(Run& run);
  void Failed(Run& run, const std::string& message);

  const Parts parts_;
  const std::shared_ptr<const Pod> pod_;  // keeps the container and its probes
  const Container& container_;
  const std::string id_, pod_ip_;
  const ProbeEvents events_;
  std::vector<std::unique_ptr<Run>> runs_;
  bool stopped_ = false;
};

}  // namespace flyball::node
