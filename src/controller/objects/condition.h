// MakeCondition: a condition of any kind, in one line.
#pragma once

#include <string>
#include <utility>

#include "api/values/time.h"
#include "base/run/clock.h"

namespace flyball::controllers {

// As it is since `now`, which is cut to seconds as every time in an object is. Kinds that also note when they
// were last written get that too.
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
