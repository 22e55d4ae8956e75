// Notification<T>: a value that one side waits for (blocking) and the other delivers once. It connects
// callbacks to the plain, blocking code that users write.
#pragma once

#include <optional>
#include <utility>

#include "base/run/mutex.h"

namespace flyball {

// Thread-safe.
template <typename T>
class Notification {
 public:
  // The first value wins; later values are dropped.
  void Set(T value) {
    MutexLock lock(mu_);
    if (value_) return;
    value_.emplace(std::move(value));
    cv_.NotifyAll();
  }
  // Blocks until Set. Only one waiter may call it, once.
  T Wait() {
    MutexLock lock(mu_);
    while (!value_) cv_.Wait(mu_);
    return std::move(*value_);
  }
  bool ready() {
    MutexLock lock(mu_);
    return value_.has_value();
  }

 private:
  Mutex mu_;
  CondVar cv_;
  std::optional<T> value_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
