// The runtime of a real node: image `host` is a process on the machine's files (native_runtime.h), every
// other image a container (oci_runtime.h), where those can run.
#pragma once

#include <memory>

#include "node/oci/oci_runtime.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// The executor must outlive it.
Result<std::unique_ptr<ContainerRuntime>> NewNodeRuntime(const OciRuntimeOptions& options, Executor& executor,
                                                         Random& random);

}  // namespace flyball::node
