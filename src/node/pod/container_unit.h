// ContainerUnit: what the agent knows of one container of a pod, through all its starts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types/core.h"
#include "base/run/executor.h"
#include "node/pod/prober.h"

namespace flyball::node {

// A value in a PodWorker; confined to the agent's strand.
struct ContainerUnit {
  enum class State {
    kWaiting,   // its turn has not come
    kStarting,  // its environment is being fetched
    kPullWait,  // its image is not here, or its configuration cannot work; tried again after a while
    kRunning,
    kBackoff,  // ended; will be started again after a while
    kExited,   // ended for good
  };

  std::string name;
  bool init = false;     // of spec.initContainers
  bool sidecar = false;  // an init container that keeps running
  std::size_t index = 0;
  // Of spec.ephemeralContainers, which come while the pod runs (kubectl debug): what it is. Never restarted,
  // and no part of what the pod is for.
  std::optional<Container> ephemeral;

  State state = State::kWaiting;
  std::string waiting_reason, waiting_message;
  std::string id;  // "<runtime>://<id>", of the current or last start
  std::string runtime_id, image_id;
  std::vector<RegistryCredentials> credentials;  // for its images
  std::string image;                             // of its spec, when it was started by this agent
  std::optional<api::Time> started_at;
  std::optional<ContainerStateTerminated> ended;     // how the current start ended
  std::optional<ContainerStateTerminated> previous;  // how the one before ended
  ResourceRequirements resources;                    // what it has: those of its spec, once they are in force
  int restarts = 0;
  int starts = 0;  // by this agent or one before it
  int crashes = 0, pull_failures = 0;
  bool started = false, ready = false;
  bool stopping = false;   // it was told to end
  bool resized = false;    // it ends only to be started with other resources, or another image
  bool launching = false;  // the runtime is starting it
  std::optional<ContainerExit> early_exit;  // it ended before the runtime said that it had started
  std::string kill_message;
  TimerId timer = kNoTimer;       // of back-offs
  TimerId kill_timer = kNoTimer;  // of its grace period
  std::shared_ptr<ContainerProber> prober;

  bool main() const { return !init && !ephemeral; }  // of spec.containers
  bool running() const { return state == State::kRunning; }
  bool exited_well() const { return state == State::kExited && ended && ended->exit_code == 0; }
  // An init container that the next ones need not wait for any more.
  bool init_done() const { return sidecar ? running() && started : exited_well(); }
};

}  // namespace flyball::node
