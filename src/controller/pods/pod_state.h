// Interprets the status of a pod in the terms that controllers use.
#pragma once

#include <optional>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

// Succeeded or Failed: the pod never runs again.
bool IsPodFinished(const Pod& pod);
// Neither finished nor being deleted: the pod counts towards the desired number.
bool IsPodActive(const Pod& pod);
bool IsPodReady(const Pod& pod);
// Since when the pod is ready (or was, when the condition last changed); nothing if that is not recorded.
std::optional<api::Time> ReadyTransition(const Pod& pod);
// How long until a ready pod has been ready for min_ready_seconds; zero or less if it already has. Nothing if
// not ready.
std::optional<Duration> TimeUntilAvailable(const Pod& pod, int min_ready_seconds, TimePoint now);
bool IsPodAvailable(const Pod& pod, int min_ready_seconds, TimePoint now);
// Restart count of the container that restarted most.
int MaxRestarts(const Pod& pod);

}  // namespace flyball::controllers
