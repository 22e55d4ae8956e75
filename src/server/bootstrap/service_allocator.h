// Service addresses: cluster IPs and node ports, given to Services when they are made and taken back when
// they go. What is taken is what the stored Services hold: nothing else is stored.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "server/catalog/catalog.h"
#include "server/registry/registry.h"

namespace flyball::server {

// `cluster_ip_range` is a CIDR block, `node_port_range` "first-last". BadRequest if either makes no sense.
Result<std::unique_ptr<ObjectLifecycle>> NewServiceAllocator(const std::string& cluster_ip_range,
                                                             const std::string& node_port_range,
                                                             const Catalog& catalog, Random& random);

}  // namespace flyball::server
