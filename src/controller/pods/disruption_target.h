// The DisruptionTarget condition: a pod is about to be deleted because of something other than itself.
#pragma once

#include <string>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

inline constexpr char kDisruptionTarget[] = "DisruptionTarget";

// Records in the status of `pod` that it is about to be deleted, and why. Returns false if that was recorded
// before.
bool MarkDisrupted(Pod& pod, std::string reason, std::string message, TimePoint now);
// Clears the condition.
void UnmarkDisrupted(Pod& pod, TimePoint now);

}  // namespace flyball::controllers
