// What processes use, from /proc: for containers without cgroups of their own.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>

#include "node/stats/usage.h"

namespace flyball::node {

// Of the processes of each of these sessions, in one look at all processes. Memory that processes share is
// counted for each. The time of one that ended is counted if its parent has waited for it.
std::map<pid_t, ResourceUsage> ReadSessionUsage(const std::set<pid_t>& sessions, TimePoint now);

}  // namespace flyball::node
