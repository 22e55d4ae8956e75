// Waiting for one object to come into a state, by watching it.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

// Calls `done` with the object as it is and at every change, with null once it is gone, until it returns
// true. Zero timeout: for ever; else a kTimeout error when it is over.
Status WaitForObject(Session& session, const ObjectRef& object, Duration timeout,
                     const std::function<Result<bool>(const json::Value* object)>& done);

// Until it is gone, or another object has its name.
Status WaitUntilGone(Session& session, const ObjectRef& object, const std::string& uid, Duration timeout);

}  // namespace flyball::cli
