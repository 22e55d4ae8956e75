// Cluster: the scheduler's view of nodes and pods: what the informers report, plus decisions that they do not
// show yet (upstream: the scheduler cache and its assumed pods).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// Confined to the scheduler's strand.
class Cluster {
 public:
  void SetNode(std::shared_ptr<const Node> node);
  void RemoveNode(const std::string& name);
  void SetNamespace(const std::string& name, Labels labels) { namespaces_[name] = std::move(labels); }
  void RemoveNamespace(const std::string& name) { namespaces_.erase(name); }

  // Sets a pod that the API shows on a node; replaces what was assumed or known about it.
  void SetPod(const PodInfoPtr& pod) { Put(pod, pod->pod->spec.node_name); }
  // From now on the pod counts as on the node, until SetPod confirms it or RemovePod reverts it.
  void Assume(const PodInfoPtr& pod, const std::string& node) { Put(pod, node); }
  // The pod is gone, has ended, or was not bound after all. Does nothing if it is not known.
  void RemovePod(const std::string& uid);
  // The node that the pod counts as on; "" if none.
  std::string NodeOf(const std::string& uid) const;

  // A pod that waits for others to leave a node; "" as the node clears it.
  void Nominate(const PodInfoPtr& pod, const std::string& node);

  // Null if there is no such node.
  const NodeInfo* FindNode(const std::string& name) const;
  const NamespaceLabels& namespaces() const { return namespaces_; }
  std::size_t node_count() const { return nodes_.size(); }
  Snapshot TakeSnapshot() const;

 private:
  void Put(const PodInfoPtr& pod, const std::string& node);

  std::map<std::string, NodeInfo> nodes_;  // includes nodes that only pods name
  std::map<std::string, std::string> node_of_pod_;
  std::map<std::string, std::vector<PodInfoPtr>> nominated_;
  NamespaceLabels namespaces_;
};

}  // namespace flyball::scheduler
