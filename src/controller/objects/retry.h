// RetryOnConflict: reads, changes and writes an object, and retries when someone else wrote first (upstream:
// retry.RetryOnConflict).
#pragma once

#include <utility>

#include "base/values/result.h"

namespace flyball {

// client-go's DefaultRetry.
inline constexpr int kConflictAttempts = 5;

// Calls fn (which must read the object again each time) until it succeeds, fails with something other than a
// conflict, or has been tried kConflictAttempts times. Does not wait in between: a conflict means that the
// other write has completed.
template <typename Fn>
auto RetryOnConflict(Fn&& fn) -> decltype(fn()) {
  for (int attempt = 1;; ++attempt) {
    auto result = fn();
    if (result || !result.error().Is(Reason::kConflict) || attempt == kConflictAttempts) return result;
  }
}

}  // namespace flyball
