// LeaderElector: of many copies of a program, one at a time leads (upstream: client-go tools/leaderelection,
// on coordination.k8s.io Leases).
//
// Guarantees: at most one leads at a time, as long as clocks run at about the same speed: expiry is judged by
// when *we* saw the record change, never by the times in it; a leader that could not renew for
// renew_deadline, which is shorter than lease_duration, has stopped leading before anybody else may start.
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
  // Not to be followed by anything that only a leader may do. Called once for each started_leading.
  std::function<void()> stopped_leading{};
  std::function<void(const std::string& identity)> new_leader{};  // optional
};

// Thread-safe. Runs on the client's executor; callbacks come one at a time from it and must not block.
class LeaderElector {
 public:
  LeaderElector(Client client, LeaderElectorOptions options, LeaderCallbacks callbacks);
  ~LeaderElector();  // as Stop

  void Start();
  // Stops leading, then (release_on_stop) gives the lease back by writing an empty holder; then calls done.
  void Stop(Closure done = nullptr);

  bool IsLeader() const;
  // The holder seen last; "" if none.
  std::string leader() const;

 private:
  class Machine;
  const std::shared_ptr<Machine> machine_;
};

}  // namespace flyball
