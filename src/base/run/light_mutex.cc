#include "base/run/light_mutex.h"

#include <sched.h>

#include <algorithm>

namespace flyball {
namespace {

// Pause between two attempts. Trying rarely lets the other threads keep working from their caches; handing
// the lock back and forth costs more than the work under it. A holder that still does not run needs our
// processor.
constexpr int kLongestPause = 64;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void LightMutex::LockSlowly() {
  for (int pause = 1;; pause = std::min(pause * 2, kLongestPause)) {
    for (int i = 0; i < pause; ++i) Relax();
    if (!locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire))
      return;
    if (pause == kLongestPause) sched_yield();
  }
}

}  // namespace flyball
