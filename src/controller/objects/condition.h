// MakeCondition: creates a condition of any kind in one line.
#pragma once

#include <string>
#include <utility>

#include "api/values/time.h"
#include "base/run/clock.h"

namespace flyball::controllers {

// The condition holds since `now`, which is truncated to seconds like every time in an object. Kinds that
// also record the last update time get that too.
template <typename C>
C MakeCondition(std::string type, std::string status, std::string reason, std::string message,
                TimePoint now) {
  C condition;
  condition.type = std::move(type);
  condition.status = std::move(status);
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  const api::Time since{api::Time::From(now).seconds, 0};
  condition.last_transition_time = since;
  if constexpr (requires { condition.last_update_time; }) condition.last_update_time = since;
  return condition;
}

}  // namespace flyball::controllers
