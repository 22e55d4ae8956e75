// The flags of kube-apiserver v1.37.
#pragma once

#include <span>

#include "cli/foreign_flags/flag_parser.h"

namespace flyball::cli {

// Every flag that `kube-apiserver --help` lists, by section, in its order; then those that are deprecated and
// not listed, without a section.
std::span<const ForeignFlag> KubeApiserverFlags();

}  // namespace flyball::cli
