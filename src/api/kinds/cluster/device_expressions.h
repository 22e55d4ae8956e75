// The expressions that select devices, in Common Expression Language (upstream:
// dynamic-resource-allocation/cel). They see one variable, `device`: driver, attributes and capacity by
// domain and name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cel/expression.h"

namespace flyball::api {

// What an expression may cost, as estimated and when it runs (upstream: CELSelectorExpressionMaxCost).
inline constexpr std::uint64_t kMaxDeviceExpressionCost = 1'000'000;

enum class DeviceExpressionAge : std::uint8_t {
  kNew,    // it may use what the previous release understands too
  kStored  // it may use everything
};

struct DeviceExpression {
  std::unique_ptr<const cel::Expression> expression;  // null if there is an error
  std::string error;                                  // upstream's words
};

// Compiles an expression that selects devices: it must evaluate to a bool. Thread-safe.
DeviceExpression CompileDeviceExpression(std::string_view text, DeviceExpressionAge age);

}  // namespace flyball::api
