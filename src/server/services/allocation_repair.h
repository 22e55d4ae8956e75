// AllocationRepair: makes the stored allocations what the Services say, and tells of what cannot be mended
// (upstream: the repair controllers of cluster IPs and node ports). Needed for Services from before there
// were such allocations, and because kube-apiserver, which may use the same store, does not write a Service
// and its allocations in one transaction.
//
// - A cluster IP without IPAddress gets one; an IPAddress of no Service goes after a minute.
// - A port that a Service has is in use; a port in use that no Service has is free after three rounds.
// - Two Services with one address, or addresses out of range, are told as events.
#pragma once

#include <memory>

#include "base/run/alarm.h"
#include "server/registry/server_state.h"
#include "server/services/service_claims.h"
#include "server/services/stored_ports.h"

namespace flyball::server {

// Thread-safe. What is given must outlive it.
class AllocationRepair {
 public:
  AllocationRepair(const AddressRanges& ranges, ServerState& state, const StoredPorts& ports);
  ~AllocationRepair();

  // One round. Blocks until it is stored.
  Status Run();
  // From now on every three minutes, on the state's workers: where others write to the store too.
  void Start();
  // Waits for a round that is under way; afterwards none begins.
  void Stop();

 private:
  class Round;
  struct Findings;
  void RunLater();

  const AddressRanges ranges_;
  ServerState& state_;
  const StoredPorts& ports_;
  const std::shared_ptr<Findings> findings_;
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace flyball::server
