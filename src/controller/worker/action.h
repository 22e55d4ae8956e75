// Action: what should happen next after a reconcile that did not fail.
#pragma once

#include <optional>

#include "base/run/clock.h"
#include "base/values/error.h"
#include "base/values/result.h"

namespace flyball {

struct Action {
  Duration requeue_after{};         // zero: not until something changes
  bool requeue = false;             // soon, as the rate limiter allows
  std::optional<Error> terminal{};  // failed permanently: logged and counted, not retried
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
// A retry is pointless until the object changes.
inline Action Terminal(Error error) {
  return {.terminal = std::move(error)};
}

}  // namespace flyball
