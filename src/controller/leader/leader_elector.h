// LeaderElector: elects one leader among several replicas of a program (upstream: client-go
// tools/leaderelection, on coordination.k8s.io Leases).
//
// Guarantees: at most one replica leads at a time, as long as clocks run at about the same speed. Expiry is
// measured from when *we* saw the record change, never from the times in it. A leader that could not renew
// for renew_deadline, which is shorter than lease_duration, has stopped leading before anyone else can start.
// When a leader dies, another leads at most lease_duration + 1.2 * retry_period after its last renewal, and
// the time of two calls: the renewal is noticed with the next read, and the lease taken as soon as it is
// over.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/client.h"

namespace flyball {

struct LeaderElectorOptions {
  std::string ns = "default";
  std::string name{};      // of the Lease
  std::string identity{};  // unique among the candidates
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  bool release_on_stop = true;
};

struct LeaderCallbacks {
  std::function<void()> started_leading{};
  // After this call, nothing that only a leader may do must happen. Called once per started_leading.
  std::function<void()> stopped_leading{};
  std::function<void(const std::string& identity)> new_leader{};  // optional
};

// Thread-safe. Runs on the client's executor. Callbacks are called from it one at a time and must not block.
class LeaderElector {
 public:
  LeaderElector(Client client, LeaderElectorOptions options, LeaderCallbacks callbacks);
  ~LeaderElector();  // as Stop

  void Start();
  // Stops leading, then (release_on_stop) releases the lease by writing an empty holder, then calls done.
  void Stop(Closure done = nullptr);

  bool IsLeader() const;
  // The last holder seen; "" if none.
  std::string leader() const;

 private:
  class Machine;
  const std::shared_ptr<Machine> machine_;
};

}  // namespace flyball
