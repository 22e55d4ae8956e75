// NodeAgent: one node: registers itself, keeps its lease, runs the pods bound to it and serves their logs
// (upstream: the kubelet).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "client/client.h"
#include "controller/event_recorder.h"
#include "informer/informer_factory.h"
#include "node/container_runtime.h"
#include "node/pod_worker.h"

namespace flyball::node {

struct NodeOptions {
  std::string name;
  std::string address = "127.0.0.1";  // where the API server reaches it
  int log_port = 0;                   // of the log server; 0: none is published
  std::map<std::string, std::string> labels;
  int max_pods = 110;  // the kubelet's default
};

// Thread-safe. The runtime and the client's executor outlive it.
class NodeAgent {
 public:
  NodeAgent(Client client, ContainerRuntime& runtime, NodeOptions options);
  ~NodeAgent();

  // Registers the node and begins to follow its pods. Returns at once; what fails is tried again.
  void Start();
  // Stops following. Containers are left to the runtime.
  void Stop();

  // The log file of a container of a pod on this node: its newest run, or the one before. NotFound if there
  // is none.
  Result<std::string> LogFile(const std::string& namespace_name, const std::string& pod,
                              const std::string& container, bool previous) const;

 private:
  void Register();
  void UpdateNodeStatus();
  void RenewLease();
  void OnPod(const std::shared_ptr<const Pod>& pod);
  void OnGone(const std::string& uid);

  const Client client_;
  ContainerRuntime& runtime_;
  const NodeOptions options_;
  EventRecorder events_;
  NodeContext context_;
  InformerFactory informers_;
  SharedInformer<Pod> pods_;
  std::shared_ptr<HandlerRegistration> registration_;
  mutable Mutex mu_;
  std::map<std::string, std::shared_ptr<PodWorker>> workers_ GUARDED_BY(mu_);  // by pod uid
  // Cleared by Stop: what is still under way finds it false and ends.
  const std::shared_ptr<std::atomic<bool>> alive_ = std::make_shared<std::atomic<bool>>(true);
};

}  // namespace flyball::node
