// When and why a pod has to leave its devices. Pure functions of the caches; thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/types/core.h"
#include "api/types/resource.h"
#include "base/run/clock.h"
#include "controller/worker/controller.h"

namespace flyball::controllers {

struct DeviceEviction {
  TimePoint at;
  std::set<std::string> rules;  // UIDs of the rules that cause it
};

// Nothing if the pod may stay. With `pretend`, as if that rule had the effect NoExecute.
std::optional<DeviceEviction> EvictionOf(const Pod& pod, Context& ctx,
                                         const DeviceTaintRule* pretend = nullptr);

}  // namespace flyball::controllers
