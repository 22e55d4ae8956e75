// Which resources have an etcd of their own (--etcd-servers-overrides).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

// One etcd cluster, and what is in it.
struct EtcdOverride {
  std::vector<std::string> prefixes;   // "/registry/events/"
  std::vector<std::string> endpoints;  // URLs
};

// "/events#http://a:2379;http://b:2379,coordination.k8s.io/leases#http://c:2379": group/resource#servers.
// Resources with the same servers, in any order, come to be in one override. BadRequest for what is not of
// that form, a resource that is not built in or is given twice, and Services and IPAddresses, which are
// written in one transaction with the node ports.
Result<std::vector<EtcdOverride>> ParseEtcdOverrides(std::string_view text);

}  // namespace flyball::cli
