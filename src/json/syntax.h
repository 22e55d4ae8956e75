// Reports JSON syntax errors with the messages of Go's encoding/json, which Kubernetes users know. This is
// the slow path of Parse, for texts that the fast parser rejected. Private to the module.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::json {

// Reads the whole text. Returns an error if Go would reject it too. Otherwise returns the same text,
// rewritten so that every JSON parser accepts it: integers beyond 64 bits get a fraction, unpaired surrogate
// escapes become \ufffd.
Result<std::string> CheckSyntax(std::string_view text, std::size_t max_depth);

}  // namespace flyball::json
