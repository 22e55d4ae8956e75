// The functions that templates may call: Go's, and kubectl's `exists` and `base64decode`. Functions only;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// What a template computes with: a JSON value, or nothing at all (a member that is not there).
using TemplateValue = std::optional<json::Value>;

// `and`, `or` and `not`, `if` and `with` ask this: false, 0, "", nil and what is empty are not true.
bool IsTrue(const TemplateValue& value);
// As fmt.Print shows it; "<no value>" for nothing.
std::string TemplateText(const TemplateValue& value);
// What a program gives its templates besides. Immutable while templates use it.
class TemplateFunctions {
 public:
  virtual ~TemplateFunctions() = default;
  virtual bool Has(std::string_view name) const = 0;
  // Requires Has(name).
  virtual Result<TemplateValue> Call(std::string_view name, const std::vector<TemplateValue>& args) const = 0;
};
bool HasTemplateFunction(std::string_view name);
// The error is what Go says after "error calling NAME: ".
Result<TemplateValue> CallTemplateFunction(std::string_view name, const std::vector<TemplateValue>& args);

}  // namespace flyball::api
