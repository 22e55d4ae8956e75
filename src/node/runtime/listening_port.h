// Whose a listening TCP port of this machine is.
#pragma once

#include <sys/types.h>

#include <functional>

namespace flyball::node {

// Whether one of the processes that `belongs` accepts listens at the port. True as well if nobody does: then
// a connection is refused anyway. Looks at /proc; the port may change hands right after.
bool ListensAt(int port, const std::function<bool(pid_t pid)>& belongs);

}  // namespace flyball::node
