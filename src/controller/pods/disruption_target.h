// The DisruptionTarget condition: a pod is about to go because of something other than itself.
#pragma once

#include <string>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

inline constexpr char kDisruptionTarget[] = "DisruptionTarget";

// Says in the status of `pod` that it is about to go, and why. False if that was said before.
bool MarkDisrupted(Pod& pod, std::string reason, std::string message, TimePoint now);
// Takes it back.
void UnmarkDisrupted(Pod& pod, TimePoint now);

}  // namespace flyball::controllers
