#include "base/light_mutex.h"

#include <sched.h>

namespace flyball {
namespace {

// Longer than any holder needs that is running; one that is not running needs our processor.
constexpr int kSpins = 64;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void LightMutex::LockSlowly() {
  for (;;) {
    for (int i = 0; i < kSpins; ++i) {
      if (!locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire))
        return;
      Relax();
    }
    sched_yield();
  }
}

}  // namespace flyball
