// One question of a probe over the network.
#pragma once

#include <string>

#include "api/types/core.h"
#include "base/run/executor.h"
#include "base/values/unique_function.h"

namespace flyball::node {

struct ProbeAnswer {
  bool success = false;
  std::string message;    // of a failure
  bool answered = false;  // somebody was there, whatever was said
};

// Asks an httpGet, tcpSocket or grpc probe of a container, on `blocking`, whose threads may wait for as long
// as the probe's timeout. `executor` has the timers. `done` is called once, on `blocking`.
void AskOverNetwork(const Probe& probe, const Container& container, const std::string& pod_ip,
                    Executor& blocking, Executor& executor, UniqueFunction<void(ProbeAnswer)> done);

}  // namespace flyball::node
