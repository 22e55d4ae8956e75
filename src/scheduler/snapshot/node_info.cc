#include "scheduler/snapshot/node_info.h"

#include <algorithm>

namespace flyball::scheduler {

void NodeInfo::SetNode(std::shared_ptr<const Node> node) {
  node_ = std::move(node);
  allocatable_ = {};
  images_.clear();
  if (!node_) return;
  const NodeStatus& status = node_->status;
  allocatable_ = ResourcesOf(status.allocatable.empty() ? status.capacity : status.allocatable);
  for (const ContainerImage& image : status.images)
    for (const std::string& name : image.names) images_[name] = image.size_bytes;
}

void NodeInfo::AddPod(PodInfoPtr pod) {
  requested_ += pod->requests;
  nonzero_requested_ += pod->nonzero_requests;
  ports_.insert(ports_.end(), pod->ports.begin(), pod->ports.end());
  if (pod->HasAffinity()) affinity_pods_.push_back(pod);
  Alike& alike = alike_[pod->likeness];
  alike.one = pod;
  ++alike.count;
  pods_.push_back(std::move(pod));
}

bool NodeInfo::RemovePod(const std::string& uid) {
  const auto is_it = [&](const PodInfoPtr& pod) { return pod->uid() == uid; };
  const auto found = std::find_if(pods_.begin(), pods_.end(), is_it);
  if (found == pods_.end()) return false;
  const PodInfoPtr pod = *found;
  pods_.erase(found);
  if (const auto alike = alike_.find(pod->likeness); --alike->second.count == 0) alike_.erase(alike);
  requested_ -= pod->requests;
  nonzero_requested_ -= pod->nonzero_requests;
  std::erase_if(affinity_pods_, is_it);
  for (const HostPort& port : pod->ports)
    if (const auto taken = std::find(ports_.begin(), ports_.end(), port); taken != ports_.end())
      ports_.erase(taken);
  return true;
}

bool NodeInfo::PortsFree(const std::vector<HostPort>& ports) const {
  for (const HostPort& wanted : ports)
    for (const HostPort& taken : ports_)
      if (Conflict(wanted, taken)) return false;
  return true;
}

std::int64_t NodeInfo::ImageSize(const std::string& name) const {
  const auto found = images_.find(name);
  return found == images_.end() ? 0 : found->second;
}

const std::string* NodeInfo::Label(const std::string& key) const {
  const auto found = node_->metadata.labels.find(key);
  return found == node_->metadata.labels.end() ? nullptr : &found->second;
}

}  // namespace flyball::scheduler
