// Tar archives in temporary files, for `cp`.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"

namespace flyball::cli {

// Writes what is at `source` (a folder with all it has; links are not followed) to the descriptor, under
// `name`. Blocks.
Status WriteTar(int descriptor, const std::string& source, const std::string& name);

// Unpacks the archive: the entry `prefix` becomes `target`, and what is below it goes below `target`. Other
// entries, and names that lead out of it, are left out; `skipped` is called with links, which are not made.
// BadRequest if the archive is damaged. Blocks.
Status ReadTar(int descriptor, const std::string& prefix, const std::string& target,
               const std::function<void(const std::string& link, const std::string& to)>& skipped);

}  // namespace flyball::cli
