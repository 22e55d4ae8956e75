#include "api/kinds/cluster/device_expressions.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

std::string ErrorOf(std::string_view text) {
  return CompileDeviceExpression(text, DeviceExpressionAge::kNew).error;
}

TEST(DeviceExpressionTest, SeesDriverAttributesAndCapacity) {
  for (const char* text :
       {R"(device.driver == "gpu.example.com")", R"(device.attributes["gpu.example.com"].model == "a100")",
        R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi")))",
        R"(device.attributes["gpu.example.com"].?family.orValue("") == "x")",
        R"(device.allowMultipleAllocations)", R"(device.attributes["gpu.example.com"].ready)",
        R"(cel.bind(gpu, device.attributes["gpu.example.com"], gpu.a && gpu.b))",
        R"(device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3")))"})
    EXPECT_EQ(ErrorOf(text), "") << text;
}

TEST(DeviceExpressionTest, RefusesWhatIsNoSelectorInUpstreamsWords) {
  EXPECT_EQ(ErrorOf("device.nope"),
            "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^");
  EXPECT_EQ(ErrorOf("1"), "must evaluate to bool or the unknown type, not int");
  EXPECT_EQ(ErrorOf("device.driver"), "must evaluate to bool or the unknown type, not string");
  EXPECT_EQ(ErrorOf("self.x").substr(0, 66),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 's");
}

TEST(DeviceExpressionTest, EstimatesTheCostFromTheLimitsOfDevices) {
  const auto cost = [](std::string_view text) {
    return CompileDeviceExpression(text, DeviceExpressionAge::kNew).expression->cost().max;
  };
  EXPECT_LT(cost(R"(device.attributes["d"].s.lowerAscii().matches("[a-z]+"))"), kMaxDeviceExpressionCost);
  EXPECT_GT(cost("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, "
                 "device.attributes.all(d, a + b + c + d != \"\"))))"),
            kMaxDeviceExpressionCost);
}

}  // namespace
}  // namespace flyball::api
