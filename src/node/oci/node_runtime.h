// The runtime of a real node: image `host` is a process on the machine's files (native_runtime.h), where that
// is allowed; every other image is a container (oci_runtime.h), where those can run.
#pragma once

#include <memory>

#include "node/oci/oci_runtime.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Whether the image `host` runs on this machine.
bool RunsHostImage(HostImage wanted);

// The executor must outlive it.
Result<std::unique_ptr<ContainerRuntime>> NewNodeRuntime(const OciRuntimeOptions& options, Executor& executor,
                                                         Random& random);

}  // namespace flyball::node
