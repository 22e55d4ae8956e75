// Hints by the annotation service.kubernetes.io/topology-mode: Auto: each zone is given endpoints by its
// share of the CPUs, so that clients can be served within it (upstream: topologycache).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "base/run/mutex.h"
#include "client/kind_ref.h"
#include "controller/events/event_recorder.h"

namespace flyball::controllers {

inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";

bool WantsTopologyHints(const Service& service);
// A node's part in what is allotted changed: its zone, whether it is ready, its CPUs.
bool TopologyChanged(const Node& before, const Node& now);

// Which Services have hints now: the change is told once. Thread-safe.
class TopologyHints {
 public:
  // Gives the ready ones of `endpoints` (all of one Service and family) hints, or none where that would
  // overload somebody, which is reported.
  void Allot(const Service& service, const std::string& family,
             const std::vector<std::shared_ptr<const Node>>& nodes, std::vector<Endpoint*> endpoints,
             EventRecorder& recorder);
  // The Service does not ask for it (any more): reported if it had hints.
  void Forget(const Service& service, const std::string& family, EventRecorder& recorder);
  // It is gone.
  void Forget(const ObjectKey& service);

 private:
  Mutex mu_;
  std::set<std::string> enabled_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::controllers
