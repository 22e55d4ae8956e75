// Service addresses: cluster IPs and node ports, given to Services when they are made and taken back when
// they go. What is taken is what the stored Services hold: nothing else is stored.
#pragma once

#include <memory>

#include "base/values/result.h"
#include "server/api_server.h"
#include "server/catalog/catalog.h"
#include "server/registry/registry.h"

namespace flyball::server {

// BadRequest if the ranges of the options make no sense.
Result<std::unique_ptr<ObjectLifecycle>> NewServiceAllocator(const ApiServerOptions& options,
                                                             const Catalog& catalog, Random& random);

}  // namespace flyball::server
