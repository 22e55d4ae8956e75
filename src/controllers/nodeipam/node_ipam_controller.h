// The node IPAM controller: gives each Node a range of pod addresses for each range of the cluster's, for
// ever (upstream: nodeipam's range allocator). One worker: no range is given twice.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

struct NodeIpamOptions {
  bool allocate = false;                   // --allocate-node-cidrs; without it the controller does nothing
  std::vector<std::string> cluster_cidrs;  // one a family
  int mask_size_v4 = 24, mask_size_v6 = 64;
  std::vector<std::string> service_cidrs;  // never given to nodes
};

// BadRequest, in kube-controller-manager's words, if the ranges make no sense.
Status ValidateNodeIpam(const NodeIpamOptions& options);

Status AddNodeIpamController(Manager& manager, const NodeIpamOptions& options);

}  // namespace flyball::controllers
