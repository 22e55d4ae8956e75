// Mutex, MutexLock, CondVar: std's, annotated for clang's thread-safety analysis (`./dev lint`).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define FLYBALL_TS(x) __attribute__((x))
#else
#define FLYBALL_TS(x)
#endif
#define CAPABILITY(x) FLYBALL_TS(capability(x))
#define SCOPED_CAPABILITY FLYBALL_TS(scoped_lockable)
#define GUARDED_BY(x) FLYBALL_TS(guarded_by(x))
#define PT_GUARDED_BY(x) FLYBALL_TS(pt_guarded_by(x))
#define REQUIRES(...) FLYBALL_TS(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) FLYBALL_TS(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) FLYBALL_TS(acquire_capability(__VA_ARGS__))
#define RELEASE(...) FLYBALL_TS(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS FLYBALL_TS(no_thread_safety_analysis)

namespace flyball {

class CAPABILITY("mutex") Mutex {
 public:
  void Lock() ACQUIRE() { mu_.lock(); }
  void Unlock() RELEASE() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Waits without a time limit only: waiting for a moment goes through Executor, which simulation controls.
class CondVar {
 public:
  // Requires mu to be held; releases it while waiting. Wakes spuriously: call in a loop.
  void Wait(Mutex& mu) REQUIRES(mu) NO_THREAD_SAFETY_ANALYSIS {
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
