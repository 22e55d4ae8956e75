// The network of a pod: before its first container and after its last one.
#include <algorithm>

#include "node/pod/pod_worker.h"

namespace flyball::node {

namespace {

// Upstream's words for runtimes without them. Without a namespace of their own its containers would be what
// it asks not to be: root of the machine.
constexpr char kNoUserNamespace[] =
    "can't set `spec.hostUsers: false`, runtime does not support user namespaces";

}  // namespace

bool PodWorker::HaveNetwork() {
  if (networked_) return true;
  if (context_.runtime.real() && !pod_->spec.host_users.value_or(true)) {
    NetworkMade(Unexpected(BadRequest(kNoUserNamespace)));
    return false;
  }
  if (!has_own_network()) {
    if (pod_->spec.host_network)
      pod_ips_ = context_.host_ips;
    else if (pod_ips_.empty())
      pod_ips_ = {context_.runtime.AllocatePodIp(pod_->metadata.uid)};
    // The node's network need not be the machine's.
    if (context_.network && !context_.network->node().machine)
      network_namespace_ = context_.network->node().ns->path();
    return networked_ = true;
  }
  // Until the node has a range of addresses; see Resume.
  if (attaching_ || !context_.network->has_cidrs()) return false;
  attaching_ = true;
  On(
      &context_.blocking,
      [network = context_.network, pod = pod_](ContainerRuntime&) { return network->Attach(*pod); },
      [](PodWorker& self, const Result<network::PodAttachment>& made) { self.NetworkMade(made); });
  return false;
}

void PodWorker::NetworkMade(const Result<network::PodAttachment>& made) {
  attaching_ = false;
  if (!made) {
    context_.recorder.Warning(flyball::TargetOf(*pod_), "FailedCreatePodSandBox",
                              "Failed to create pod sandbox: " + made.error().message());
    constexpr Duration kNetworkRetry = std::chrono::seconds(2);
    context_.strand.PostAfter(kNetworkRetry, OnStrand([](PodWorker& self) {
                                if (self.state_ == State::kRunning) self.Sync();
                              }));
    return CheckStopped();
  }
  if (state_ == State::kEnded) return DropNetwork();
  networked_ = true;
  network_namespace_ = made->namespace_path;
  pod_ips_ = made->ips;
  if (state_ == State::kTerminating) return CheckStopped();
  Sync();
}

// Once nothing of the pod runs any more. Its addresses stay in its status.
void PodWorker::DropNetwork() {
  const bool any = std::any_of(units_.begin(), units_.end(),
                               [](const auto& unit) { return unit->running() || unit->launching; });
  if (any || attaching_ || !has_own_network()) return;
  context_.blocking.Post([network = context_.network, uid = pod_->metadata.uid] { network->Detach(uid); });
}

}  // namespace flyball::node
