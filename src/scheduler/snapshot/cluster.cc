#include "scheduler/snapshot/cluster.h"

namespace flyball::scheduler {

void Cluster::SetNode(std::shared_ptr<const Node> node) {
  const std::string name = node->metadata.name;
  nodes_[name].SetNode(std::move(node));
}

void Cluster::RemoveNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  found->second.SetNode(nullptr);
  if (found->second.pods().empty()) nodes_.erase(found);
}

void Cluster::Put(const PodInfoPtr& pod, const std::string& node) {
  RemovePod(pod->uid());
  nodes_[node].AddPod(pod);
  node_of_pod_[pod->uid()] = node;
}

void Cluster::RemovePod(const std::string& uid) {
  const auto found = node_of_pod_.find(uid);
  if (found == node_of_pod_.end()) return;
  const auto node = nodes_.find(found->second);
  if (node != nodes_.end()) {
    node->second.RemovePod(uid);
    if (!node->second.node() && node->second.pods().empty()) nodes_.erase(node);
  }
  node_of_pod_.erase(found);
}

std::string Cluster::NodeOf(const std::string& uid) const {
  const auto found = node_of_pod_.find(uid);
  return found == node_of_pod_.end() ? std::string() : found->second;
}

void Cluster::Nominate(const PodInfoPtr& pod, const std::string& node) {
  for (auto it = nominated_.begin(); it != nominated_.end();) {
    std::erase_if(it->second, [&](const PodInfoPtr& other) { return other->uid() == pod->uid(); });
    it = it->second.empty() ? nominated_.erase(it) : std::next(it);
  }
  if (!node.empty()) nominated_[node].push_back(pod);
}

const NodeInfo* Cluster::FindNode(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() || !found->second.node() ? nullptr : &found->second;
}

Snapshot Cluster::TakeSnapshot() const {
  Snapshot snapshot{.namespaces = &namespaces_, .nominated = &nominated_};
  snapshot.nodes.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_)
    if (node.node()) snapshot.nodes.push_back(&node);
  return snapshot;
}

}  // namespace flyball::scheduler
