// Waits for one object to reach a state, by watching it.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

// Calls `done` with the current object, on every change, and with null once it is gone, until it returns
// true. A zero timeout waits forever; otherwise a kTimeout error is returned when it has passed.
Status WaitForObject(Session& session, const ObjectRef& object, Duration timeout,
                     const std::function<Result<bool>(const json::Value* object)>& done);

// Waits until the object is gone, or another object has its name.
Status WaitUntilGone(Session& session, const ObjectRef& object, const std::string& uid, Duration timeout);

// The API's word for a value of --cascade.
Result<std::string> PropagationPolicy(const std::string& cascade);

}  // namespace flyball::cli
