// PodAttacher: what gives the pods of a node their networks. A node agent knows nothing else of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/values/result.h"
#include "network/node_network.h"

namespace flyball::network {

struct PodAttachment {
  std::string namespace_path;  // what processes of the pod enter
  std::vector<std::string> ips;
};

// Thread-safe. All methods may block.
class PodAttacher {
 public:
  virtual ~PodAttacher() = default;

  virtual const NodeNetwork& node() const = 0;
  virtual const ClusterNetwork& cluster() const = 0;
  // Why no pod can be attached yet, in the words of a node's Ready condition; empty: they can.
  virtual std::string WhyNotReady() const = 0;
  // The ranges of Node.spec.podCIDRs. Nothing if they are known.
  virtual Status UseCidrs(const std::vector<std::string>& cidrs) = 0;
  // It has ranges, or needs none.
  virtual bool has_cidrs() const = 0;

  // The pod's namespace and addresses, made unless they are there. On failure nothing is left of it.
  virtual Result<PodAttachment> Attach(const Pod& pod) = 0;
  // Nothing if it has none.
  virtual void Detach(const std::string& pod_uid) = 0;
  // What an earlier program has left is removed, but for these pods'.
  virtual void KeepOnly(const std::set<std::string>& pod_uids) = 0;
};

}  // namespace flyball::network
