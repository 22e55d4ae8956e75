// What the node lifecycle controller remembers between reconciles: when each node last reported, and how much
// of each zone still works.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"

namespace flyball::controllers {

// Upstream's flags of the same names.
struct NodeLifecycleOptions {
  Duration node_monitor_grace_period = std::chrono::seconds(50);
  Duration node_startup_grace_period = std::chrono::seconds(60);
  double node_eviction_rate = 0.1;             // nodes per second and zone
  double secondary_node_eviction_rate = 0.01;  // the same, in a zone where many nodes do not work
  int large_cluster_size_threshold = 50;       // zones up to this size then evict nothing at all
  double unhealthy_zone_threshold = 0.55;      // the share of nodes that counts as many
};

// When each node last reported, by our own clock, because the clocks of nodes cannot be trusted. Thread-safe.
class Heartbeats {
 public:
  // `sign` changes whenever the node reports. An unknown node counts as having reported at `first`. Returns
  // since when the sign has not changed.
  TimePoint LastHeard(const std::string& node, const std::string& sign, TimePoint first, TimePoint now);
  // Returns true the first time a node is seen.
  bool Register(const std::string& node, const std::string& uid);
  // The UID it was registered with; nothing if it was not.
  std::optional<std::string> Forget(const std::string& node);
  // Gives every node a new chance, because the controller itself was cut off.
  void ResetAll(TimePoint now);

 private:
  struct Entry {
    std::string sign;
    TimePoint at;
  };
  Mutex mu_;
  std::map<std::string, Entry> entries_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::string> registered_ FLYBALL_GUARDED_BY(mu_);
};

// How much of each zone works, and therefore how fast its failed nodes may lose their pods (upstream:
// handleDisruption). If nothing works anywhere, the controller itself is most likely cut off, and nothing is
// evicted. Thread-safe.
class ZoneHealth {
 public:
  explicit ZoneHealth(const NodeLifecycleOptions& options) : options_(options) {}

  enum class Change { kNone, kAllDown, kNoLongerAllDown };
  Change Note(const std::string& node, const std::string& zone, bool ready);
  Change Forget(const std::string& node);

  bool all_down() const;
  // Returns zero if a node of the zone may be tainted now, which uses up a turn; otherwise how long to wait
  // before asking again; nothing if that depends on other nodes.
  std::optional<Duration> Turn(const std::string& zone, TimePoint now);
  // Gives the turn back: the node could not be tainted.
  void GiveBack(const std::string& zone);
  // All known nodes, to look at when a change concerns every node.
  std::vector<std::string> nodes() const;

 private:
  struct NodeEntry {
    std::string zone;
    bool ready;
  };
  Change Judge() FLYBALL_REQUIRES(mu_);
  double RateOf(const std::string& zone) const FLYBALL_REQUIRES(mu_);

  const NodeLifecycleOptions options_;
  mutable Mutex mu_;
  std::map<std::string, NodeEntry> nodes_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, TimePoint> last_turn_ FLYBALL_GUARDED_BY(mu_);
  bool all_down_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::controllers
