// Creates and deletes many pods at once, with one Event per pod on their controller.
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

// Who creates and deletes, and the object that the Events are about.
struct PodBatch {
  const Client& client;
  EventRecorder& recorder;
  EventTarget owner;
};

// Creates in batches of 1, 2, 4, ...; stops after the first batch with a failure. `failed` is called for each
// creation that was rejected. A namespace that is being deleted rejects everything; that failure gets no
// Event.
BatchResult CreatePods(const PodBatch& batch, int count, const std::function<Pod(int i)>& make,
                       const std::function<void()>& failed = nullptr);
// Creates the same pod `count` times.
BatchResult CreatePods(const PodBatch& batch, int count, const Pod& pod);

// Deletes all at once. A pod that is already gone counts as deleted. `failed` is called for each pod that we
// did not delete. With kUnreadyAsSeen, a pod that the cache shows as not ready is deleted only if it has not
// changed since (else Conflict): it may have become ready and would then be the wrong choice.
enum class DeleteIf { kAny, kUnreadyAsSeen };
BatchResult DeletePods(const PodBatch& batch, const std::vector<std::shared_ptr<const Pod>>& pods,
                       const std::function<void(const Pod&)>& failed = nullptr,
                       DeleteIf which = DeleteIf::kAny);

}  // namespace flyball::controllers
