// UniqueFunction: a callable wrapper that may own move-only state.
//
// std::function requires copyable targets. Closures here own promises, buffers and coroutine handles, which
// cannot be copied. Small targets are stored inline, without an allocation. Thread-compatible. Calling an
// empty one is undefined (asserted in debug builds).
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
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
  UniqueFunction(F&& f) {  // NOLINT(google-explicit-constructor): meant to convert from any callable
    using Target = std::decay_t<F>;
    if constexpr (kFits<Target>) {
      new (storage_) Target(std::forward<F>(f));
      operations_ = &kInPlace<Target>;
    } else {
      new (storage_) Target*(new Target(std::forward<F>(f)));
      operations_ = &kOnHeap<Target>;
    }
  }

  UniqueFunction(UniqueFunction&& other) noexcept { MoveFrom(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this == &other) return *this;
    // The old target is destroyed last, because its destructor may look at this function.
    UniqueFunction old(std::move(*this));
    MoveFrom(other);
    return *this;
  }
  UniqueFunction(const UniqueFunction&) = delete;
  UniqueFunction& operator=(const UniqueFunction&) = delete;
  ~UniqueFunction() {
    if (operations_) operations_->destroy(storage_);
  }

  explicit operator bool() const { return operations_ != nullptr; }

  R operator()(Args... args) const {
    assert(operations_);
    return operations_->call(storage_, std::forward<Args>(args)...);
  }

 private:
  // A handle and two shared pointers, which is what most closures own.
  static constexpr std::size_t kInPlaceBytes = 40;
  template <typename F>
  static constexpr bool kFits = sizeof(F) <= kInPlaceBytes &&
                                alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

  struct Operations {
    R (*call)(void* target, Args&&... args);
    void (*move)(void* to, void* from) noexcept;  // leaves nothing at `from`
    void (*destroy)(void* target) noexcept;
  };

  template <typename F>
  static R Call(F& target, Args&&... args) {
    if constexpr (std::is_void_v<R>)
      static_cast<void>(target(std::forward<Args>(args)...));
    else
      return target(std::forward<Args>(args)...);
  }

  template <typename F>
  static constexpr Operations kInPlace = {[](void* target, Args&&... args) -> R {
                                            return Call(*static_cast<F*>(target),
                                                        std::forward<Args>(args)...);
                                          },
                                          [](void* to, void* from) noexcept {
                                            F* source = static_cast<F*>(from);
                                            new (to) F(std::move(*source));
                                            source->~F();
                                          },
                                          [](void* target) noexcept { static_cast<F*>(target)->~F(); }};

  template <typename F>
  static constexpr Operations kOnHeap = {
      [](void* target, Args&&... args) -> R {
        return Call(**static_cast<F**>(target), std::forward<Args>(args)...);
      },
      [](void* to, void* from) noexcept { new (to) F*(*static_cast<F**>(from)); },
      [](void* target) noexcept { delete *static_cast<F**>(target); }};

  // Requires that this one is empty.
  void MoveFrom(UniqueFunction& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_) operations_->move(storage_, other.storage_);
  }

  alignas(void*) mutable std::byte storage_[kInPlaceBytes];
  const Operations* operations_ = nullptr;
};

// The type that executors run.
using Closure = UniqueFunction<void()>;

}  // namespace flyball
