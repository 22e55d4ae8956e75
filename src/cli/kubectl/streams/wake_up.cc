#include "cli/kubectl/streams/wake_up.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace flyball::cli {

WakeUp::WakeUp() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

WakeUp::~WakeUp() {
  ::close(descriptor_);
}

void WakeUp::Ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

void WakeUp::Clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof count);
}

}  // namespace flyball::cli
