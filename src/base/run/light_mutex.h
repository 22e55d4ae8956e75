// LightMutex: a lock for critical sections of tens of nanoseconds that do not block, allocate much or call
// other code. Uncontended, it costs half as much as a Mutex. Waiting threads spin briefly, then yield. It
// does not work with CondVar.
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
