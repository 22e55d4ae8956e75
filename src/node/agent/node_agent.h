// NodeAgent: one node: its Node object, its lease, and the pods placed on it (upstream: kubelet).
//
// Flow: registers the Node, renews its lease every ten seconds and its status every five minutes, watches the
// pods whose spec.nodeName is its name, and has a PodWorker for each. Everything runs on one strand and never
// blocks; several agents fit in one process.
// Caveat: new nodes are tainted node.kubernetes.io/not-ready:NoSchedule by admission. Upstream the node
// lifecycle controller takes that away; where none runs the agent does it itself (remove_not_ready_taint),
// which a server that restricts nodes to what kubelets may do refuses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/client.h"
#include "network/pod_attacher.h"
#include "node/agent/node_object.h"
#include "node/eviction/eviction_thresholds.h"
#include "node/runtime/runtime.h"
#include "node/stages/stage_set.h"

namespace flyball::node {

class NodeServer;

struct NodeAgentOptions {
  std::string name;
  std::string address = "127.0.0.1";             // where its server is reached
  std::vector<std::string> further_addresses{};  // of the other IP family
  ResourceList capacity;                         // MachineCapacity or SimCapacity
  std::map<std::string, std::string> labels;
  bool remove_not_ready_taint = true;
  // Pods get a network of their own from it; null: they have the machine's.
  std::shared_ptr<network::PodAttacher> network{};
  // Without one: why, for people. An event on the Node says it, and what follows. Empty: no event.
  std::string shares_network_because{};
  ClusterDns dns{};
  // Says that it is ready only after SetServing: its server has no certificate yet that callers trust.
  bool wait_for_serving = false;
  std::string data_dir{};  // whose file system is the node's; empty: it has none
  // Where plugins register, and where the volumes of CSI drivers are: kubelet's --root-dir. Empty: the node
  // has no plugins. Of nodes that share it, each but one has a staging_root of its own.
  std::string root_dir{}, staging_root{};
  ResourceList reserved{};  // what pods may not have of the capacity (--system-reserved, --kube-reserved)
  EvictionThresholds eviction{};
  // File or folder of manifests of pods that it runs whatever the API server says (--pod-manifest-path);
  // empty: none.
  std::string static_pods{};
  // Simulated pods, and the Node itself, go on as these say, where there are any for them; the container
  // runtime then runs no pods. Null: none.
  std::shared_ptr<const StageSet> stages{};
  // Changes what was read of the machine: for tests of pressure that is not there.
  std::function<void(NodeStats& stats)> read_machine{};
};

// Thread-safe. The client's runtime and the container runtime must outlive it.
class NodeAgent {
 public:
  // `server` serves its logs and may be shared by agents; null: no logs.
  NodeAgent(Client client, ContainerRuntime& runtime, NodeAgentOptions options, NodeServer* server = nullptr);
  // As Stop.
  ~NodeAgent();

  // Registers and begins, in the background; tries again until it works.
  void Start();
  // No more watching and no more writes. Containers are left to the runtime's Shutdown.
  void Stop();

  // Calls fn once its Node object exists.
  void OnRegistered(std::function<void()> fn);
  // Its server can be called now (see wait_for_serving).
  void SetServing();
  // Registered, and the pods there were are known.
  bool ready() const;
  // Calls fn once that is so.
  void OnReady(std::function<void()> fn);

 private:
  class Core;
  NodeAgent(Client client, ContainerRuntime& runtime, NodeAgentOptions options, NodeServer* server, int port);
  const std::shared_ptr<Core> core_;
  NodeServer* const server_;
};

}  // namespace flyball::node
