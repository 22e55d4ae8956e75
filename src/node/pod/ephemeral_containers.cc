// Ephemeral containers: they come while the pod runs, one by one, and never change (kubectl debug).
#include <algorithm>

#include "node/pod/pod_worker.h"

namespace flyball::node {
namespace {

// As any other container; what else it has is not allowed.
Container AsContainer(const EphemeralContainer& from) {
  return {.name = from.name,
          .image = from.image,
          .command = from.command,
          .args = from.args,
          .working_dir = from.working_dir,
          .env = from.env,
          .volume_mounts = from.volume_mounts,
          .termination_message_path = from.termination_message_path,
          .image_pull_policy = from.image_pull_policy,
          .security_context = from.security_context,
          .stdin = from.stdin,
          .stdin_once = from.stdin_once,
          .tty = from.tty,
          .env_from = from.env_from,
          .termination_message_policy = from.termination_message_policy};
}

}  // namespace

bool PodWorker::AddEphemeral() {
  bool added = false;
  for (const EphemeralContainer& container : pod_->spec.ephemeral_containers) {
    const bool known = std::any_of(units_.begin(), units_.end(),
                                   [&](const auto& unit) { return unit->name == container.name; });
    if (known) continue;
    auto unit = std::make_unique<ContainerUnit>();
    unit->name = container.name;
    unit->ephemeral = AsContainer(container);
    units_.push_back(std::move(unit));
    added = true;
  }
  return added;
}

}  // namespace flyball::node
