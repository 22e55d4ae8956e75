// A command beside a container that is run to its end, for probes and hooks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// As ContainerRuntime::OpenExec of one container.
using OpenExecFn =
    std::function<Result<std::shared_ptr<StreamHandle>>(const StreamRequest& request, StreamEvents events)>;

// Starts the command with `open`, keeps the beginning of what it writes, and kills it after `timeout`. `done`
// is called once, from any thread: with the result, or with the error of `open`.
void RunExec(Executor& executor, const OpenExecFn& open, const std::vector<std::string>& command,
             Duration timeout, UniqueFunction<void(Result<ExecResult>)> done);

}  // namespace flyball::node
