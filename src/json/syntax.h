// What is wrong with a JSON text, in the words of Go's encoding/json, which Kubernetes' clients know.
// The slow path of Parse, for texts the fast parser refused. Private to the module.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::json {

// Reads the whole text. An error if Go would refuse it too. Otherwise the same text with what only Go accepts
// written so that every JSON parser does: integers beyond 64 bits get a fraction, unpaired surrogate escapes
// become \ufffd.
Result<std::string> CheckSyntax(std::string_view text, std::size_t max_depth);

}  // namespace flyball::json
