#include "scheduler/devices/device_constraints.h"

#include <algorithm>

namespace flyball::scheduler {
namespace {

// By its full name, or without the domain if that is the driver's own.
const DeviceAttribute* FindAttribute(const Device& device, const std::string& driver,
                                     const std::string& name) {
  if (const auto found = device.attributes.find(name); found != device.attributes.end())
    return &found->second;
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.compare(0, slash, driver) != 0) return nullptr;
  const auto found = device.attributes.find(name.substr(slash + 1));
  return found == device.attributes.end() ? nullptr : &found->second;
}

}  // namespace

bool ConstraintState::Add(const DeviceWish& wish, const DeviceId& id, const Device& device) {
  if (!wish.IsAmong(constraint_.requests)) return true;
  const bool match = constraint_.match_attribute.has_value();
  const auto& name = match ? constraint_.match_attribute : constraint_.distinct_attribute;
  const DeviceAttribute* value = name ? FindAttribute(device, id.driver, *name) : nullptr;
  if (value == nullptr) return false;
  const auto same = [&](const DeviceAttribute* other) { return *other == *value; };
  const bool holds = match ? std::all_of(values_.begin(), values_.end(), same)
                           : std::none_of(values_.begin(), values_.end(), same);
  if (holds) values_.push_back(value);
  return holds;
}

void ConstraintState::Remove(const DeviceWish& wish) {
  if (wish.IsAmong(constraint_.requests)) values_.pop_back();
}

}  // namespace flyball::scheduler
