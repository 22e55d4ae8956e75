// The progress of a rollout, in kubectl's words.
#pragma once

#include <string>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

struct RolloutState {
  std::string message;  // ends with a newline
  bool done = false;
};

// For a Deployment, DaemonSet or StatefulSet. Returns an error if the rollout has failed or cannot be
// followed.
Result<RolloutState> RolloutStateOf(const json::Value& object);

}  // namespace flyball::cli
