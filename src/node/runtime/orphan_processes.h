// What an earlier agent left running.
#pragma once

#include <sys/types.h>

#include <string>

namespace flyball::node {

// Set in the environment of every process the agent starts; its value is the data directory.
inline constexpr char kOwnerVariable[] = "FLYBALL_NODE_DATA";

// Also set there: the UID of the pod.
inline constexpr char kPodVariable[] = "FLYBALL_POD_UID";

// Whether the process was started with `name=value` in its environment, by the agent or by one of its
// processes.
bool HasInEnvironment(pid_t pid, const std::string& name, const std::string& value);

// Kills every process that the files of `containers_dir` name (pid and start time) with its session, and
// every process that carries `data_dir` in its environment; removes the files. Returns how many were killed.
int KillLeftovers(const std::string& containers_dir, const std::string& data_dir);

}  // namespace flyball::node
