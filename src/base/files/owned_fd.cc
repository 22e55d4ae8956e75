#include "base/files/owned_fd.h"

#include <unistd.h>

namespace flyball {

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace flyball
