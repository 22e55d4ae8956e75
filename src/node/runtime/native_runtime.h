// The `native` runtime: a real process for each container, on the machine's own files (image `host`), in a
// session of its own, with its output kept.
//
// Below the data directory: `containers/<id>` holds the pid and start time of each running process, so that
// what an agent that was killed left behind is found and killed by the next one; `logs/<ns>_<pod>_<uid>/
// <container>/<attempt>.log` and what was rotated out, of the last two starts; `pods/<uid>/<container>` is
// where a process starts that names no directory.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "node/runtime/log_files.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

inline constexpr char kHostImage[] = "host";
// Whether the image means the machine's own files.
inline bool IsHostImage(std::string_view image) {
  return image == kHostImage || image == "host:latest";
}

struct NativeRuntimeOptions {
  std::string data_dir;
  std::string pod_ip = "127.0.0.1";  // processes share the machine's network
  LogLimits log_limits{};            // of each container's log
};

// Kills what an earlier agent with the same data directory left running. An error if the directory cannot be
// used. The executor must outlive it.
Result<std::unique_ptr<ContainerRuntime>> NewNativeRuntime(const NativeRuntimeOptions& options,
                                                           Executor& executor, Random& random);

}  // namespace flyball::node
