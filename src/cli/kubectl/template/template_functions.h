// The functions that templates may call. Functions only; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

// What a template computes with: a JSON value, or nothing at all (a member that is not there).
using TemplateValue = std::optional<json::Value>;

// `and`, `or` and `not`, `if` and `with` ask this: false, 0, "", nil and what is empty are not true.
bool IsTrue(const TemplateValue& value);
// As fmt.Print shows it; "<no value>" for nothing.
std::string TemplateText(const TemplateValue& value);
bool HasTemplateFunction(std::string_view name);
// The error is what Go says after "error calling NAME: ".
Result<TemplateValue> CallTemplateFunction(std::string_view name, const std::vector<TemplateValue>& args);

}  // namespace flyball::cli
