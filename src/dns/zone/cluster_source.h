// ClusterSource: keeps a Zone up to date with the Services, EndpointSlices, namespaces and pods of a cluster.
#pragma once

#include <functional>
#include <memory>

#include "base/run/executor.h"
#include "dns/zone/zone.h"
#include "informer/informer_factory.h"

namespace flyball::dns {

// Flow: a change marks its Service; on a strand of `executor` the records of all that are marked are worked
// out from the caches, and posted to the zone's loop. So a Service with thousands of endpoints whose slices
// change one after the other is not worked out once per slice, and the zone's loop only swaps pointers.
//
// Thread-safe. Each change of the zone is a closure given to `change`, which runs it where the zone lives, in
// the order of the calls. SetSynced(true) is the last of those for what existed when it started.
class ClusterSource {
 public:
  using Change = std::function<void(std::function<void(Zone&)>)>;

  // Before the factory starts. `informers` and `executor` must outlive it.
  ClusterSource(InformerFactory& informers, Executor& executor, PodNames pods, Change change);
  ~ClusterSource();  // no change begins after this

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball::dns
