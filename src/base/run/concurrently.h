// ForEachAtATime: runs many small tasks concurrently, but not all at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

#include "base/run/mutex.h"
#include "base/run/task.h"
#include "base/values/result.h"

namespace flyball {

namespace concurrently_internal {

// State that the workers of one call share. Thread-safe.
class Progress {
 public:
  Progress(std::size_t count, std::size_t workers) : count_(count), running_(workers) {}

  // Returns false if no task is left to start.
  bool Next(std::size_t& i) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    i = next_.fetch_add(1, std::memory_order_relaxed);
    return i < count_;
  }
  void Fail(Error error) {
    MutexLock lock(mu_);
    if (status_) status_ = Unexpected(std::move(error));
    failed_ = true;
  }
  // Returns true for the last worker.
  bool Leave(std::exception_ptr exception) {
    if (exception) {
      MutexLock lock(mu_);
      exception_ = exception;
      failed_ = true;
    }
    return running_.fetch_sub(1) == 1;
  }
  Status Outcome() {
    MutexLock lock(mu_);
    if (exception_) std::rethrow_exception(exception_);
    return status_;
  }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> next_{0}, running_;
  std::atomic<bool> failed_{false};
  Mutex mu_;
  Status status_ FLYBALL_GUARDED_BY(mu_);
  std::exception_ptr exception_ FLYBALL_GUARDED_BY(mu_);
};

// Tasks that never suspend would grow the stack in unoptimised builds (task.h).
inline constexpr std::size_t kTasksBetweenYields = 8;

template <typename Fn>
Task<void> RunWorker(Executor& executor, Progress& progress, Fn& fn) {
  std::size_t done = 0;
  for (std::size_t i = 0; progress.Next(i);) {
    if (Status status = co_await fn(i); !status) progress.Fail(std::move(status.error()));
    if (++done % kTasksBetweenYields == 0) co_await ResumeOn(executor);
  }
}

}  // namespace concurrently_internal

// Awaits fn(0) to fn(count - 1), each a Task<Status>. Starts them in order and runs at most `at_a_time` (> 0)
// of them at once. Each continues wherever it resumes, so on a thread pool several may run in parallel. After
// an error no more tasks are started; the error is returned when the running ones have ended. Exceptions are
// treated the same way.
template <typename Fn>
Task<Status> ForEachAtATime(Executor& executor, std::size_t count, std::size_t at_a_time, Fn& fn) {
  if (count == 0) co_return Status();
  const std::size_t workers = std::min(count, at_a_time);
  concurrently_internal::Progress progress(count, workers);
  auto start = [&](UniqueFunction<void(bool)> done) {
    auto shared = std::make_shared<UniqueFunction<void(bool)>>(std::move(done));
    for (std::size_t i = 0; i < workers; ++i)
      Spawn(concurrently_internal::RunWorker(executor, progress, fn),
            [&progress, shared](std::exception_ptr exception) {
              if (progress.Leave(exception)) (*shared)(true);
            });
  };
  auto all = Callback<bool>(executor, std::move(start));
  co_await all;
  co_return progress.Outcome();
}

}  // namespace flyball
