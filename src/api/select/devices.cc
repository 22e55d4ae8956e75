#include "api/select/devices.h"

#include <optional>

namespace flyball {

DeviceId IdOf(const DeviceRequestAllocationResult& allocated) {
  return {allocated.driver, allocated.pool, allocated.device};
}

bool Selects(const DeviceTaintRule& rule, const DeviceId& id) {
  const auto& selector = rule.spec.device_selector;
  const auto fits = [](const std::optional<std::string>& wanted, const std::string& name) {
    return !wanted || *wanted == name;
  };
  return selector && fits(selector->driver, id.driver) && fits(selector->pool, id.pool) &&
         fits(selector->device, id.device);
}

bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return (toleration.operator_.empty() || toleration.operator_ == "Equal") && toleration.value == taint.value;
}

}  // namespace flyball
