// DeviceSelectors: decides whether a device matches an expression. Compiles each expression once.
#pragma once

#include <map>
#include <string>

#include "api/kinds/cluster/device_expressions.h"
#include "api/types/resource.h"
#include "base/values/result.h"

namespace flyball::scheduler {

// Confined to the scheduler's strand.
class DeviceSelectors {
 public:
  // Whether the device of the driver matches. BadRequest, in upstream's words, if the expression does not
  // compile, fails on this device or costs too much.
  Result<bool> Match(const std::string& expression, const std::string& driver, const Device& device);

 private:
  const api::DeviceExpression& Compiled(const std::string& expression);

  std::map<std::string, api::DeviceExpression> compiled_;
};

}  // namespace flyball::scheduler
