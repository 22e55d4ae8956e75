// What the node lifecycle controller remembers between reconciles: when each node was last heard of, and how
// much of each zone still works.
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
  double node_eviction_rate = 0.1;             // nodes a second and zone
  double secondary_node_eviction_rate = 0.01;  // the same, in a zone much of which does not work
  int large_cluster_size_threshold = 50;       // zones up to this size then evict nothing at all
  double unhealthy_zone_threshold = 0.55;      // what "much of" means
};

// When each node was last heard of, by our own clock: the clocks of nodes are not to be trusted. Thread-safe.
class Heartbeats {
 public:
  // `sign` changes whenever the node reports; a node not known before counts as heard at `first`. The time
  // since when it has not changed.
  TimePoint LastHeard(const std::string& node, const std::string& sign, TimePoint first, TimePoint now);
  // True the first time a node is seen.
  bool Register(const std::string& node, const std::string& uid);
  // The UID it was registered with; nothing if it was not.
  std::optional<std::string> Forget(const std::string& node);
  // Everybody gets a new chance: it was us who could not hear.
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

// How much of each zone works, and so how fast the nodes of it that do not may lose their pods (upstream:
// handleDisruption). If nothing works anywhere it is most likely us: nothing is evicted. Thread-safe.
class ZoneHealth {
 public:
  explicit ZoneHealth(const NodeLifecycleOptions& options) : options_(options) {}

  enum class Change { kNone, kAllDown, kNoLongerAllDown };
  Change Note(const std::string& node, const std::string& zone, bool ready);
  Change Forget(const std::string& node);

  bool all_down() const;
  // Zero if a node of the zone may be tainted now, which uses up a turn; else how long to wait before asking
  // again; nothing if that depends on other nodes.
  std::optional<Duration> Turn(const std::string& zone, TimePoint now);
  // The turn was of no use: the node could not be tainted.
  void GiveBack(const std::string& zone);
  // All nodes known: who has to be looked at when a change concerns everybody.
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
