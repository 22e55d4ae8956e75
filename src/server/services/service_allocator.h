// Service addresses: cluster IPs and node ports, given to Services when they are made and taken back when
// they go.
//
// Guarantee: no two Services get the same address or port, also from several servers on one store (also
// kube-apiservers). An address is taken by an IPAddress object that must not be there before, ports by a new
// version of the object that lists them (StoredPorts). Both are written in the transaction that writes the
// Service, so nothing leaks when a server dies.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "server/registry/registry.h"
#include "server/registry/server_state.h"
#include "server/services/service_claims.h"
#include "server/services/stored_ports.h"

namespace flyball::server {

// One range, or one of each IP family with a comma between them. BadRequest names --service-cluster-ip-range.
Result<AddressRanges> ParseServiceRanges(const std::string& cluster_ip_range);

// The state and the ports must outlive it.
std::unique_ptr<ObjectLifecycle> NewServiceAllocator(const AddressRanges& ranges, ServerState& state,
                                                     const StoredPorts& ports);

}  // namespace flyball::server
