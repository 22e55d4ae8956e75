// Action: what a reconcile wants to happen next, when it did not fail.
#pragma once

#include <optional>

#include "base/run/clock.h"
#include "base/values/error.h"
#include "base/values/result.h"

namespace flyball {

struct Action {
  Duration requeue_after{};         // zero: not until something changes
  bool requeue = false;             // soon, by the rate limiter
  std::optional<Error> terminal{};  // failed for good: logged and counted, not retried
};

inline Action Done() {
  return {};
}
inline Action Requeue() {
  return {.requeue = true};
}
inline Action RequeueAfter(Duration delay) {
  return {.requeue_after = delay};
}
// There is no point in trying again until the object changes.
inline Action Terminal(Error error) {
  return {.terminal = std::move(error)};
}

}  // namespace flyball
