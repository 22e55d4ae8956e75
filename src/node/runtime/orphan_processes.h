// What an earlier agent left running.
#pragma once

#include <string>

namespace flyball::node {

// Set in the environment of every process the agent starts; its value is the data directory.
inline constexpr char kOwnerVariable[] = "FLYBALL_NODE_DATA";

// Kills every process that the files of `containers_dir` name (pid and start time) with its session, and
// every process that carries `data_dir` in its environment; removes the files. Returns how many were killed.
int KillLeftovers(const std::string& containers_dir, const std::string& data_dir);

}  // namespace flyball::node
