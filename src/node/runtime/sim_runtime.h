// The `sim` runtime: containers that only say they run. Hundreds of pods cost a few kilobytes each.
//
// Annotations of a pod make its containers end: `sim.flyball.dev/exit-after: 5s` (whole seconds) and
// `sim.flyball.dev/exit-code: "1"`. Otherwise sim_process.h says how long they run.
//
// What they use is what they request, or what `sim.flyball.dev/usage-cpu: 250m` and
// `sim.flyball.dev/usage-memory: 64Mi` say: for each container, and of one alone with its name, as in
// `sim.flyball.dev/usage-cpu.web`. Changes are in force at once.
#pragma once

#include <memory>
#include <string>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

inline constexpr char kSimExitAfter[] = "sim.flyball.dev/exit-after";
inline constexpr char kSimExitCode[] = "sim.flyball.dev/exit-code";
inline constexpr char kSimUsageCpu[] = "sim.flyball.dev/usage-cpu";
inline constexpr char kSimUsageMemory[] = "sim.flyball.dev/usage-memory";

// Pods get addresses in 10.<64 + subnet / 256>.<subnet % 256>.0/24 and onwards: give each node of a process
// its own subnet. The executor must outlive it.
std::unique_ptr<ContainerRuntime> NewSimRuntime(Executor& executor, Random& random, int subnet = 0);

}  // namespace flyball::node
