#include "node/monitor/monitor_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// The file is built before this one (src/node/CMakeLists.txt).
#ifndef FLYBALL_MONITOR_FILE
#define FLYBALL_MONITOR_FILE "/dev/null"  // where a file is only checked
#endif
asm(".section .rodata\n"
    ".balign 16\n"
    ".global flyball_monitor_begin\n"
    "flyball_monitor_begin:\n"
    ".incbin \"" FLYBALL_MONITOR_FILE
    "\"\n"
    ".global flyball_monitor_end\n"
    "flyball_monitor_end:\n"
    ".previous\n");

extern "C" const char flyball_monitor_begin[], flyball_monitor_end[];

namespace flyball::node {

Result<OwnedFd> OpenMonitorProgram() {
  OwnedFd file(memfd_create("flyball-monitor", MFD_CLOEXEC));
  const char* at = flyball_monitor_begin;
  while (file && at < flyball_monitor_end) {
    const ssize_t n = write(file.get(), at, static_cast<std::size_t>(flyball_monitor_end - at));
    if (n <= 0) break;
    at += n;
  }
  if (!file || at != flyball_monitor_end)
    return Unexpected(InternalError(std::string("monitor program: ") + std::strerror(errno)));
  return file;
}

}  // namespace flyball::node
