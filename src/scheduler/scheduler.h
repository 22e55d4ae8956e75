// The scheduler: assigns every pod without a node to the best node available (upstream: kube-scheduler).
//
// Flow: informers feed the Cluster (which pods are where) and the SchedulingQueue (which pods wait). The
// scheduler takes one pod at a time from the queue, and Place decides. If there is a node, the pod is assumed
// to be there at once, so that the next decision counts it, and the binding is sent without waiting for the
// response. If there is none, the pod's PodScheduled condition and an event say why, pods of lower priority
// may be evicted for it, and it waits until something changes that could help.
#pragma once

#include <string>

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::scheduler {

struct SchedulerOptions {
  // Handles only pods with this spec.schedulerName.
  std::string scheduler_name = "default-scheduler";
};

// Makes the manager run a scheduler while it leads. Call before Manager::Start.
Status AddScheduler(Manager& manager, const SchedulerOptions& options = {});

}  // namespace flyball::scheduler
