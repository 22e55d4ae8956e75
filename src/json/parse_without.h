// Parses JSON text but skips members that nobody needs.
#pragma once

#include <span>
#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// Like Parse, but omits the members at these paths ("metadata.managedFields", "spec.versions[*].schema").
// Their syntax is still checked; members that are not built cost little.
Result<Value> ParseWithout(std::span<const std::string_view> paths, std::string_view text);

}  // namespace flyball::json
