// For tests only: where recordings and reference facts of the real Kubernetes are kept, outside the project.
#pragma once

#include <string>

namespace flyball {

// $FLYBALL_SHARED, else the folder `shared` beside the source tree; it need not exist.
std::string SharedFolder();

}  // namespace flyball
