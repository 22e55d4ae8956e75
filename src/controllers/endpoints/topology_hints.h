// Hints for the annotation service.kubernetes.io/topology-mode: Auto. Each zone gets endpoints by its share
// of the CPUs, so that clients can be served within their zone (upstream: topologycache).
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
// Whether a change of a node affects the allocation: its zone, whether it is ready, its CPUs.
bool TopologyChanged(const Node& before, const Node& now);

// Which Services have hints now; a change is reported once. Thread-safe.
class TopologyHints {
 public:
  // Sets hints on the ready ones of `endpoints` (all of one Service and family), or none if an endpoint would
  // be overloaded, which is reported.
  void Allot(const Service& service, const std::string& family,
             const std::vector<std::shared_ptr<const Node>>& nodes, std::vector<Endpoint*> endpoints,
             EventRecorder& recorder);
  // The Service does not (or no longer) request hints; reported if it had them.
  void Forget(const Service& service, const std::string& family, EventRecorder& recorder);
  // The Service is gone.
  void Forget(const ObjectKey& service);

 private:
  Mutex mu_;
  std::set<std::string> enabled_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::controllers
