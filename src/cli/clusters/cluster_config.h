// The file of `flyball up --config`: the flags of `up` by their names, in YAML, so that a cluster can be kept
// under version control.
//
//   nodes: 3
//   runtime: sim
//   load-image: [app.tar]
//   apply: [crds.yaml, app/]
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

// The words with the flags of the file that they name with --config, except those that are given; words
// without --config as they are. Paths in lists are relative to the folder of the file. BadRequest, naming the
// file, if it is not as above.
Result<std::vector<std::string>> WithClusterConfig(std::vector<std::string> words);

}  // namespace flyball::cli
