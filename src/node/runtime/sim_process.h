// What a simulated container does: which images there are, and how long its process would run, as far as its
// command says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// A simulated process that is asked to end takes this long, so that one can see the pod terminate.
inline constexpr Duration kSimStopTime = std::chrono::seconds(1);
// How long a command takes that does nothing but end.
inline constexpr Duration kSimRunTime = std::chrono::seconds(1);
// What runs to its end and does not say for how long (init containers, the pods of Jobs): long enough for a
// client that polls every two seconds to see it run.
inline constexpr Duration kSimWorkTime = std::chrono::seconds(4);

// Images that cannot be pulled: with the tag `non-existent` or `404`, or of a registry whose name begins with
// `invalid.`.
bool SimImageExists(std::string_view image);

struct SimEnd {
  Duration after{};
  int exit_code = 0;
};
// When and how the container ends by itself; nothing: it runs until it is stopped. The pod's annotations come
// first (sim_runtime.h), then the commands `sleep N`, `true`, `false`, `pause` and `sh -c "exit N"`, then
// whether it runs to its end.
std::optional<SimEnd> SimEndOf(const ContainerConfig& config);

// What a simulated container uses.
struct SimUse {
  std::int64_t cpu_milli = 0, memory = 0;
};
// As the pod's annotations say (sim_runtime.h), else what the container requests.
SimUse SimUseOf(const Pod& pod, const std::string& container);

}  // namespace flyball::node
