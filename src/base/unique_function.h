// UniqueFunction: a callable wrapper that may own move-only state.
//
// std::function demands copyable targets; closures here own promises, buffers and coroutine handles, which
// are not. Thread-compatible. Calling an empty one is undefined (asserted in debug builds).
#pragma once

#include <cassert>
#include <memory>
#include <type_traits>
#include <utility>

namespace flyball {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
                                                    std::is_invocable_r_v<R, std::decay_t<F>&, Args...>>>
  UniqueFunction(F&& f)  // NOLINT(google-explicit-constructor): meant to convert from any callable
      : target_(std::make_unique<Target<std::decay_t<F>>>(std::forward<F>(f))) {}

  UniqueFunction(UniqueFunction&&) noexcept = default;
  UniqueFunction& operator=(UniqueFunction&&) noexcept = default;
  UniqueFunction(const UniqueFunction&) = delete;
  UniqueFunction& operator=(const UniqueFunction&) = delete;

  explicit operator bool() const { return target_ != nullptr; }

  R operator()(Args... args) const {
    assert(target_);
    return target_->Call(std::forward<Args>(args)...);
  }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R Call(Args... args) = 0;
  };
  template <typename F>
  struct Target final : Callable {
    explicit Target(F f) : fn(std::move(f)) {}
    R Call(Args... args) override { return fn(std::forward<Args>(args)...); }
    F fn;
  };

  std::unique_ptr<Callable> target_;
};

// What executors run.
using Closure = UniqueFunction<void()>;

}  // namespace flyball
