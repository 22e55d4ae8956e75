// LightMutex: a lock for critical sections of tens of nanoseconds, in which nothing blocks, allocates much or
// calls out. Half the price of a Mutex when nobody else wants it; those who wait spin a little, then give
// their turn away. No CondVar goes with it.
#pragma once

#include <atomic>

#include "base/run/mutex.h"

namespace flyball {

class FLYBALL_CAPABILITY("mutex") LightMutex {
 public:
  void Lock() FLYBALL_ACQUIRE() {
    if (locked_.exchange(true, std::memory_order_acquire)) LockSlowly();
  }
  void Unlock() FLYBALL_RELEASE() { locked_.store(false, std::memory_order_release); }

 private:
  void LockSlowly();
  std::atomic<bool> locked_ = false;
};

class FLYBALL_SCOPED_CAPABILITY LightLock {
 public:
  explicit LightLock(LightMutex& mu) FLYBALL_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~LightLock() FLYBALL_RELEASE() { mu_.Unlock(); }
  LightLock(const LightLock&) = delete;
  LightLock& operator=(const LightLock&) = delete;

 private:
  LightMutex& mu_;
};

}  // namespace flyball
