// Result<T>: a T, or the Error that explains why there is none. It has the interface of std::expected<T,
// Error> (C++23), so that this header can become an alias once the compiler supports it.
//
//   Result<int> Parse(std::string_view s) {
//     if (s.empty()) return Unexpected(BadRequest("empty"));
//     return 42;
//   }
//   if (auto n = Parse(s); !n) return Unexpected(n.error()); else Use(*n);
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "base/values/error.h"

namespace flyball {

// Marks an Error as the error side of whatever Result the function returns.
class Unexpected {
 public:
  explicit Unexpected(Error error) : error_(std::move(error)) {}
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Unexpected e)                                       // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(e).error()) {}
  template <typename U,
            typename = std::enable_if_t<
                std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, Result> &&
                !std::is_same_v<std::decay_t<U>, T> && !std::is_same_v<std::decay_t<U>, Unexpected>>>
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return assert(has_value()), *std::get_if<0>(&state_); }
  const T& value() const& { return assert(has_value()), *std::get_if<0>(&state_); }
  T&& value() && { return assert(has_value()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return assert(!has_value()), *std::get_if<1>(&state_); }

  template <typename U>
  T value_or(U&& fallback) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Unexpected e) : error_(std::move(e).error()), ok_(false) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return assert(!ok_), error_; }

 private:
  static const Error& NoError();
  Error error_ = NoError();
  bool ok_ = true;
};

using Status = Result<void>;

// FLYBALL_TRY(expr): if expr is an error, returns it from the enclosing function (or coroutine, with the CO_
// form). FLYBALL_ASSIGN(auto x, expr): the same, and binds the value.
#define FLYBALL_CONCAT_INNER(a, b) a##b
#define FLYBALL_CONCAT(a, b) FLYBALL_CONCAT_INNER(a, b)
#define FLYBALL_TRY(expr)                                                              \
  do {                                                                                 \
    auto&& flyball_try_result = (expr);                                                \
    if (!flyball_try_result) return ::flyball::Unexpected(flyball_try_result.error()); \
  } while (false)
#define FLYBALL_ASSIGN(decl, expr) FLYBALL_ASSIGN_INNER(FLYBALL_CONCAT(flyball_result_, __LINE__), decl, expr)
#define FLYBALL_ASSIGN_INNER(tmp, decl, expr)          \
  auto tmp = (expr);                                   \
  if (!tmp) return ::flyball::Unexpected(tmp.error()); \
  decl = std::move(*tmp)
#define FLYBALL_CO_TRY(expr)                                                              \
  do {                                                                                    \
    auto&& flyball_try_result = (expr);                                                   \
    if (!flyball_try_result) co_return ::flyball::Unexpected(flyball_try_result.error()); \
  } while (false)
#define FLYBALL_CO_ASSIGN(decl, expr) \
  FLYBALL_CO_ASSIGN_INNER(FLYBALL_CONCAT(flyball_result_, __LINE__), decl, expr)
#define FLYBALL_CO_ASSIGN_INNER(tmp, decl, expr)          \
  auto tmp = (expr);                                      \
  if (!tmp) co_return ::flyball::Unexpected(tmp.error()); \
  decl = std::move(*tmp)

}  // namespace flyball
