// Attempt: what one try at a write came to: Done, Retry or Refused.
#pragma once

#include <utility>
#include <variant>

#include "base/values/result.h"

namespace flyball::server {

// Somebody else was faster: the write may be decided again, on what is there now.
struct Retry {
  int tries = 0;  // how often it may be tried in all
  Error error;    // the answer if this was the last time
};

// Done holds what was written. An Unexpected makes it Refused: trying again would not help. A value.
template <typename T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T done) : state_(std::in_place_index<0>, std::move(done)) {}  // NOLINT(google-explicit-constructor)
  Attempt(Retry retry)
      : state_(std::in_place_index<1>, std::move(retry)) {}  // NOLINT(google-explicit-constructor)
  Attempt(Unexpected refused)                                // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<2>, std::move(refused).error()) {}

  // Whether to go on after try number `attempt`, the first being 1.
  bool CanRetry(int attempt) const {
    const Retry* retry = std::get_if<1>(&state_);
    return retry != nullptr && attempt < retry->tries;
  }
  // The end of it: no further try is made.
  Result<T> Outcome() && {
    if (T* done = std::get_if<0>(&state_)) return std::move(*done);
    if (Retry* retry = std::get_if<1>(&state_)) return Unexpected(std::move(retry->error));
    return Unexpected(std::move(*std::get_if<2>(&state_)));
  }
  // The same, with what was written made into something else.
  template <typename U, typename Make>
  Attempt<U> As(Make&& make) && {
    if (T* done = std::get_if<0>(&state_)) return Attempt<U>(make(std::move(*done)));
    if (Retry* retry = std::get_if<1>(&state_)) return Attempt<U>(std::move(*retry));
    return Attempt<U>(Unexpected(std::move(*std::get_if<2>(&state_))));
  }

 private:
  std::variant<T, Retry, Error> state_;
};

}  // namespace flyball::server
