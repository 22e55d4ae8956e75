// Connections to a pod that has a network of its own: to its loopback address, as CRI runtimes forward ports.
#pragma once

#include <string>

#include "base/values/result.h"

namespace flyball::node {

// A non-blocking socket in the network namespace at that path, connected with the port of 127.0.0.1 or else
// of
// ::1 there; the caller closes it. kConnection if nobody accepts, which is known within a fraction of a
// second.
Result<int> ConnectLoopback(const std::string& network_namespace, int port);

}  // namespace flyball::node
