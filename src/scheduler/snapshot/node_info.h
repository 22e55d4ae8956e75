// NodeInfo: a node and the pods that count as on it, with their sums kept up to date.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/types/core.h"
#include "scheduler/snapshot/pod_info.h"

namespace flyball::scheduler {

// Copyable: preemption works on copies. Confined to the scheduler's strand.
class NodeInfo {
 public:
  explicit NodeInfo(std::shared_ptr<const Node> node = nullptr) { SetNode(std::move(node)); }

  // Null while only pods on a node of this name are known.
  const std::shared_ptr<const Node>& node() const { return node_; }
  void SetNode(std::shared_ptr<const Node> node);

  void AddPod(PodInfoPtr pod);
  // Returns false if there is no pod with this UID.
  bool RemovePod(const std::string& uid);

  const std::vector<PodInfoPtr>& pods() const { return pods_; }
  // The pods, grouped by what selectors can distinguish: the replicas of one owner are one entry, so that
  // counting matches does not look at every pod.
  struct Alike {
    PodInfoPtr one;
    std::int64_t count = 0;
  };
  const std::unordered_map<std::string, Alike>& alike() const { return alike_; }
  // Pods with any pod affinity, and pods with required anti-affinity; most clusters have few.
  const std::vector<PodInfoPtr>& affinity_pods() const { return affinity_pods_; }
  const Resources& allocatable() const { return allocatable_; }
  const Resources& requested() const { return requested_; }
  const Resources& nonzero_requested() const { return nonzero_requested_; }
  bool PortsFree(const std::vector<HostPort>& ports) const;
  // Size in bytes of an image on the node; 0 if it does not have it.
  std::int64_t ImageSize(const std::string& name) const;
  // The value of a label; null if absent.
  const std::string* Label(const std::string& key) const;
  const std::string& name() const { return node_->metadata.name; }

 private:
  std::shared_ptr<const Node> node_;
  Resources allocatable_, requested_, nonzero_requested_;
  std::vector<PodInfoPtr> pods_, affinity_pods_;
  std::unordered_map<std::string, Alike> alike_;
  std::vector<HostPort> ports_;
  std::map<std::string, std::int64_t> images_;
};

}  // namespace flyball::scheduler
