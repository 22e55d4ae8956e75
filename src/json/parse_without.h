// Reading JSON text without the parts nobody wants.
#pragma once

#include <span>
#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// As Parse, but the members at these paths ("metadata.managedFields") are left out. Their syntax is checked
// all the same; what is not built costs little.
Result<Value> ParseWithout(std::span<const std::string_view> paths, std::string_view text);

}  // namespace flyball::json
