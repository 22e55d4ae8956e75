#include "scheduler/devices/device_requests.h"

#include <algorithm>
#include <map>

namespace flyball::scheduler {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename R>
DeviceWish WishOf(const R& request) {
  DeviceWish wish;
  wish.class_name = &request.device_class_name;
  wish.selectors = &request.selectors;
  wish.tolerations = &request.tolerations;
  wish.capacity = &request.capacity;
  wish.all = request.allocation_mode == "All";
  wish.count = request.count;
  return wish;
}

// Each setting of a class once, for all requests that use the class.
void AddClassSettings(const std::vector<DeviceWish>& chosen, const std::vector<const DeviceClass*>& classes,
                      DeviceAllocationResult& devices) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto [known, fresh] = ranges.try_emplace(classes[i]->metadata.name);
    if (fresh) {
      known->second.first = devices.config.size();
      for (const DeviceClassConfiguration& setting : classes[i]->spec.config)
        devices.config.push_back({.source = "FromClass", .requests = {}, .opaque = setting.opaque});
      known->second.second = devices.config.size();
    }
    for (std::size_t at = known->second.first; at < known->second.second; ++at)
      devices.config[at].requests.push_back(chosen[i].name);
  }
}

}  // namespace

bool DeviceWish::IsAmong(const std::vector<std::string>& requests) const {
  return requests.empty() || Contains(requests, parent) || Contains(requests, name);
}

std::vector<DeviceWish> WishesOf(const DeviceRequest& request) {
  std::vector<DeviceWish> wishes;
  if (request.exactly) {
    wishes.push_back(WishOf(*request.exactly));
    wishes.back().name = request.name;
    wishes.back().admin = request.exactly->admin_access.value_or(false);
  }
  for (const DeviceSubRequest& alternative : request.first_available) {
    wishes.push_back(WishOf(alternative));
    wishes.back().name = request.name + "/" + alternative.name;
  }
  for (DeviceWish& wish : wishes) wish.parent = request.name;
  return wishes;
}

void AddConfiguration(const ResourceClaimObject& claim, const std::vector<DeviceWish>& chosen,
                      const std::vector<const DeviceClass*>& classes, DeviceAllocationResult& devices) {
  AddClassSettings(chosen, classes, devices);
  for (const DeviceClaimConfiguration& setting : claim.spec.devices.config) {
    const bool used = std::any_of(chosen.begin(), chosen.end(),
                                  [&](const DeviceWish& wish) { return wish.IsAmong(setting.requests); });
    if (used)
      devices.config.push_back(
          {.source = "FromClaim", .requests = setting.requests, .opaque = setting.opaque});
  }
  // No list of requests means all of them.
  for (DeviceAllocationConfiguration& setting : devices.config) {
    const bool for_all = std::all_of(chosen.begin(), chosen.end(),
                                     [&](const DeviceWish& wish) { return wish.IsAmong(setting.requests); });
    if (for_all) setting.requests.clear();
  }
}

}  // namespace flyball::scheduler
