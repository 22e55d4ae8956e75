// PodWorker: one pod on this node, from the first sight of it to its removal.
//
// An explicit state machine on a strand: inputs are the pod's newest version, ends of its containers and
// timers; outputs are calls to the runtime, status patches and events. Nothing blocks.
//
//   kStarting → kRunning → (kFinished)        restartPolicy decides whether containers are started again
//        any → kStopping → kGone              once the pod is being deleted: SIGTERM, grace, SIGKILL, delete
//        from the API
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/executor.h"
#include "client/client.h"
#include "controller/event_recorder.h"
#include "node/container_runtime.h"

namespace flyball::node {

// What every worker of a node shares. Outlives them.
struct NodeContext {
  Client client;
  EventRecorder& events;
  ContainerRuntime& runtime;
  Executor& executor;
  std::string node_name, node_address;
};

// Thread-safe: every call is handed to its strand.
class PodWorker : public std::enable_shared_from_this<PodWorker> {
 public:
  // `on_gone` is called once, when nothing of the pod is left here.
  PodWorker(const NodeContext& context, std::shared_ptr<const Pod> pod, Closure on_gone);

  void Start();
  // A newer version of the same pod.
  void Update(std::shared_ptr<const Pod> pod);
  // The pod is gone from the API: everything ends at once.
  void Removed();

 private:
  enum class State { kStarting, kRunning, kFinished, kStopping, kGone };
  enum class Phase { kWaiting, kRunning, kDone };
  struct Unit {
    Container container;
    bool init = false;
    Phase phase = Phase::kWaiting;
    int restarts = 0;
    std::string waiting_reason = "ContainerCreating", waiting_message;
    TimePoint started, finished;
    ContainerExit exit;
    bool exited_before = false;  // `last` holds its previous end
    ContainerStateTerminated last;
    TimerId timer = kNoTimer;
    Duration backoff{};
  };

  void Begin();
  void Advance();
  void StartUnit(std::size_t index);
  void OnExit(std::size_t index, int attempt, ContainerExit exit);
  void Retry(std::size_t index, Duration delay, std::string reason, std::string message);
  bool ShouldRestart(const Unit& unit) const;
  void BeginStop();
  void FinishStop();
  bool AnyRunning() const;

  Result<ContainerSpec> SpecOf(const Unit& unit) const;
  Result<std::string> EnvValue(const EnvVar& variable) const;
  PodStatus StatusNow() const;
  ContainerStatus StatusOf(const Unit& unit) const;
  std::string PodPhase() const;
  void WriteStatus();
  void SendStatus(json::Value status);
  void DeleteFromApi();
  void Event(const char* type, const Unit& unit, std::string_view reason, const std::string& message);

  NodeContext context_;
  Strand strand_;
  Closure on_gone_;

  // Confined to the strand.
  std::shared_ptr<const Pod> pod_;
  State state_ = State::kStarting;
  std::vector<Unit> units_;  // init containers first
  std::string address_;
  TimePoint start_time_;
  TimerId grace_timer_ = kNoTimer;
  bool sending_ = false, dirty_ = false;
  bool removed_ = false;
  json::Value sent_;
};

}  // namespace flyball::node
