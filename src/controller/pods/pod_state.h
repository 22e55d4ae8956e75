// What a pod's status says, in the words controllers use.
#pragma once

#include <optional>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

// Succeeded or Failed: it never runs again.
bool IsPodFinished(const Pod& pod);
// Neither finished nor being deleted: it counts towards what was asked for.
bool IsPodActive(const Pod& pod);
bool IsPodReady(const Pod& pod);
// Since when it is ready (or was when it last changed); nothing if it never said.
std::optional<api::Time> ReadyTransition(const Pod& pod);
// How long until a ready pod has been so for min_ready_seconds: zero or less if it has. Nothing if not ready.
std::optional<Duration> TimeUntilAvailable(const Pod& pod, int min_ready_seconds, TimePoint now);
bool IsPodAvailable(const Pod& pod, int min_ready_seconds, TimePoint now);
// Of the container that restarted most.
int MaxRestarts(const Pod& pod);

}  // namespace flyball::controllers
