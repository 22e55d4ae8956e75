// Mutex, MutexLock, CondVar: the standard ones, annotated for clang's thread-safety analysis (`./dev lint`).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define FLYBALL_TS(x) __attribute__((x))
#else
#define FLYBALL_TS(x)
#endif
#define FLYBALL_CAPABILITY(x) FLYBALL_TS(capability(x))
#define FLYBALL_SCOPED_CAPABILITY FLYBALL_TS(scoped_lockable)
#define FLYBALL_GUARDED_BY(x) FLYBALL_TS(guarded_by(x))
#define FLYBALL_PT_GUARDED_BY(x) FLYBALL_TS(pt_guarded_by(x))
#define FLYBALL_REQUIRES(...) FLYBALL_TS(requires_capability(__VA_ARGS__))
#define FLYBALL_EXCLUDES(...) FLYBALL_TS(locks_excluded(__VA_ARGS__))
#define FLYBALL_ACQUIRE(...) FLYBALL_TS(acquire_capability(__VA_ARGS__))
#define FLYBALL_RELEASE(...) FLYBALL_TS(release_capability(__VA_ARGS__))
#define FLYBALL_NO_THREAD_SAFETY_ANALYSIS FLYBALL_TS(no_thread_safety_analysis)

namespace flyball {

class FLYBALL_CAPABILITY("mutex") Mutex {
 public:
  void Lock() FLYBALL_ACQUIRE() { mu_.lock(); }
  void Unlock() FLYBALL_RELEASE() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class FLYBALL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) FLYBALL_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() FLYBALL_RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Supports only waits without a time limit. Timed waits go through Executor, which simulations control.
class CondVar {
 public:
  // Requires mu to be held; releases it while waiting. Wakes up spuriously, so call it in a loop.
  void Wait(Mutex& mu) FLYBALL_REQUIRES(mu) FLYBALL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace flyball
