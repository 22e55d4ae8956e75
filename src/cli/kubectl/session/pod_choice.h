// Which pod an argument means: `POD`, or `TYPE/NAME` for a pod of that object.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// The pod itself, or those that the object selects, running ones first. Never empty.
Result<std::vector<json::Value>> PodsBehind(Session& session, const std::string& argument);

}  // namespace flyball::cli
