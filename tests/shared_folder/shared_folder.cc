#include "shared_folder/shared_folder.h"

#include <cstdlib>

namespace flyball {

std::string SharedFolder() {
  const char* given = std::getenv("FLYBALL_SHARED");
  return given != nullptr ? given : FLYBALL_SHARED_DIR;
}

}  // namespace flyball
