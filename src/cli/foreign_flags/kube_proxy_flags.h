// The flags of kube-proxy v1.37.
#pragma once

#include <span>

#include "cli/foreign_flags/flag_parser.h"

namespace flyball::cli {

// Every flag that kube-proxy takes on Linux, besides those of its logs, sorted.
std::span<const ForeignFlag> KubeProxyFlags();

}  // namespace flyball::cli
