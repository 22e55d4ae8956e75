// Cluster: what the scheduler believes about nodes and pods: what the informers say, plus what it has decided
// and the informers do not show yet (upstream: the scheduler cache and its assumed pods).
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

  // A pod the API shows on a node; takes the place of what was assumed or known of it.
  void SetPod(const PodInfoPtr& pod) { Put(pod, pod->pod->spec.node_name); }
  // From now on the pod counts as on the node, until SetPod confirms or RemovePod takes it back.
  void Assume(const PodInfoPtr& pod, const std::string& node) { Put(pod, node); }
  // Gone, ended, or not bound after all. Nothing if it is not here.
  void RemovePod(const std::string& uid);
  // The node it counts as on; "" if none.
  std::string NodeOf(const std::string& uid) const;

  // A pod that waits for others to leave a node; "" as the node takes it back.
  void Nominate(const PodInfoPtr& pod, const std::string& node);

  // Null if there is no such node.
  const NodeInfo* FindNode(const std::string& name) const;
  const NamespaceLabels& namespaces() const { return namespaces_; }
  std::size_t node_count() const { return nodes_.size(); }
  Snapshot TakeSnapshot() const;

 private:
  void Put(const PodInfoPtr& pod, const std::string& node);

  std::map<std::string, NodeInfo> nodes_;  // also names without a Node that pods are on
  std::map<std::string, std::string> node_of_pod_;
  std::map<std::string, std::vector<PodInfoPtr>> nominated_;
  NamespaceLabels namespaces_;
};

}  // namespace flyball::scheduler
