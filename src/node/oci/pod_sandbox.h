// PodSandbox: what the containers of a pod share: their monitor, its namespaces, and the files about names.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/values/result.h"
#include "node/runtime/native_process.h"
#include "node/runtime/pod_names.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Starts the pod's monitor, which outlives this program, unless it runs. `program` is the descriptor of its
// file. Its pid, or why not. Blocks.
Result<pid_t> EnsureMonitor(ProcessLoop& loop, int program, const std::string& folder, const Pod& pod);

// Whether the pod's containers see each other's processes (shareProcessNamespace).
bool SharesPids(const Pod& pod);
// The first process of the PID namespace that they share; 0 if there is none.
pid_t PausePid(const std::string& folder);

// Writes the pod's hosts, hostname and resolv.conf into its folder and returns how containers see them.
Result<std::vector<ContainerMount>> WriteNameFiles(const std::string& folder, const Pod& pod,
                                                   const std::vector<std::string>& ips,
                                                   const ClusterDns& dns);

}  // namespace flyball::node
