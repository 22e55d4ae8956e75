// The flags of etcd v3.7, the version that Kubernetes v1.37 is tested with.
#pragma once

#include <span>

#include "cli/foreign_flags/flag_parser.h"

namespace flyball::cli {

// By name. Numbers of all sizes have the type "int", lists and enumerations "string".
std::span<const ForeignFlag> EtcdFlags();

}  // namespace flyball::cli
