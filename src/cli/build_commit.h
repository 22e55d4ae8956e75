// The commit of the program. The build writes the source file (cmake/build_commit.cmake).
#pragma once

#include "base/observe/build_info.h"

namespace flyball::cli {

BuildInfo BuildOfProgram();

}  // namespace flyball::cli
