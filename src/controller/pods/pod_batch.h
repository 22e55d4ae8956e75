// Making and deleting many pods at once, with an Event on their controller for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "controller/objects/slow_start.h"

namespace flyball::controllers {

// Who makes and deletes, and on what the Events are.
struct PodBatch {
  const Client& client;
  EventRecorder& recorder;
  EventTarget owner;
};

// Creates in batches of 1, 2, 4, ...; stops after the first batch with a failure. `failed` is called for each
// creation that was refused. A namespace that is being deleted refuses everything: that is no failure worth
// an Event.
BatchResult CreatePods(const PodBatch& batch, int count, const std::function<Pod(int i)>& make,
                       const std::function<void()>& failed = nullptr);
// The same pod `count` times.
BatchResult CreatePods(const PodBatch& batch, int count, const Pod& pod);

// All at once. One that is gone already counts as deleted. `failed` is called for each that was not deleted
// by us. With kUnreadyAsSeen a pod that the cache shows as not ready is deleted only if it has not changed
// since (else Conflict): it may have become ready, and then it was not the one to choose.
enum class DeleteIf { kAny, kUnreadyAsSeen };
BatchResult DeletePods(const PodBatch& batch, const std::vector<std::shared_ptr<const Pod>>& pods,
                       const std::function<void(const Pod&)>& failed = nullptr,
                       DeleteIf which = DeleteIf::kAny);

}  // namespace flyball::controllers
