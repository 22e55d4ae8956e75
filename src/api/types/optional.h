// Optional<T>: std::optional's interface with the value on the heap. The generated structs hold their
// optional parts in it, because most are absent: a Volume is a name and thirty kinds of source of which one
// is set, and must not be thirty times as large as that one.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

namespace flyball::api {

template <typename T>
class Optional {
 public:
  using value_type = T;

  Optional() = default;
  Optional(std::nullopt_t) {}                             // NOLINT(google-explicit-constructor)
  Optional(T value) : value_(new T(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  Optional(const Optional& other) : value_(other.value_ ? new T(*other.value_) : nullptr) {}
  Optional(Optional&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Optional& operator=(Optional other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Optional() { delete value_; }

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }

  // Each requires has_value().
  T& value() { return assert(has_value()), *value_; }
  const T& value() const { return assert(has_value()), *value_; }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Replaces the value by an empty one, and returns it to be filled.
  T& emplace() {
    reset();
    return *(value_ = new T());
  }
  void reset() { delete std::exchange(value_, nullptr); }

  bool operator==(const Optional& other) const {
    return has_value() == other.has_value() && (!has_value() || *value_ == *other.value_);
  }
  bool operator==(std::nullopt_t) const { return !has_value(); }

 private:
  T* value_ = nullptr;  // owned; a bare pointer because hundreds of these are compiled in every user
};

}  // namespace flyball::api
