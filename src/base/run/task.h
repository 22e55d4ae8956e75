// Task<T>: a coroutine that returns one T. It is lazy: it runs when awaited or spawned. The server handles
// requests with it; code that users write is plain and blocking.
//
// A Task owns its coroutine frame. Awaiting transfers control to the task and back by symmetric transfer, so
// the stack does not grow in optimised builds. (At -O0 g++ makes real calls; there, long chains must suspend
// in between.) An exception leaves the task at the co_await (or reaches Spawn's `done`). Confined to whoever
// awaits it; the frame may change threads only at an await that resumes on an Executor.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/run/executor.h"
#include "base/values/unique_function.h"

namespace flyball {

template <typename T>
class Task;

namespace task_internal {

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr exception;

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      return h.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() { exception = std::current_exception(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T Take() {
    if (exception) std::rethrow_exception(exception);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void Take() {
    if (exception) std::rethrow_exception(exception);
  }
};

}  // namespace task_internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_internal::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && {
    struct Awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        handle.promise().continuation = caller;
        return handle;
      }
      T await_resume() { return handle.promise().Take(); }
    };
    return Awaiter{handle_};
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace task_internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// A coroutine that nobody awaits; it frees itself when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached RunDetached(Task<void> task, UniqueFunction<void(std::exception_ptr)> done);

}  // namespace task_internal

// Starts the task now, on this thread, and runs it to its first suspension. `done` is called once when the
// task ends, with the exception that left it, or null.
void Spawn(Task<void> task, UniqueFunction<void(std::exception_ptr)> done);

// co_await ResumeOn(executor): continues in one of the executor's closures.
inline auto ResumeOn(Executor& executor) {
  struct Awaiter {
    Executor& executor;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      executor.Post([h] { h.resume(); });
    }
    void await_resume() {}
  };
  return Awaiter{executor};
}

// co_await Callback<T>(executor, start): calls start(done) and continues when done(T) has been called, once,
// from any thread. If done is called before start returns, the coroutine continues at once on this thread,
// else on the executor. Requires that done is called, or destroyed together with everything that could resume
// the coroutine.
template <typename T, typename Start>
auto Callback(Executor& executor, Start start) {
  struct Shared {
    std::atomic<bool> second{false};  // set by whichever of "suspended" and "done" comes first
    std::optional<T> value;
  };
  struct Awaiter {
    Executor& executor;
    Start start;
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();

    bool await_ready() { return false; }
    bool await_suspend(std::coroutine_handle<> h) {
      auto state = shared;  // this awaiter may be destroyed once the other side has resumed us
      auto& ex = executor;
      start(UniqueFunction<void(T)>([state, h, &ex](T value) {
        state->value.emplace(std::move(value));
        if (state->second.exchange(true)) ex.Post([h] { h.resume(); });
      }));
      return !state->second.exchange(true);
    }
    T await_resume() { return std::move(*shared->value); }
  };
  return Awaiter{executor, std::move(start)};
}

}  // namespace flyball
