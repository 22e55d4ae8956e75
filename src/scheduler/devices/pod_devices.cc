#include "scheduler/devices/pod_devices.h"

#include <algorithm>

#include "controller/objects/owner.h"
#include "controller/pods/pod_claims.h"
#include "scheduler/devices/device_requests.h"

namespace flyball::scheduler {

using controllers::PodClaim;

Rejection PodDevices::Check(const Node& node) {
  bool available = true;
  for (const ClaimPtr& claim : allocated_) {
    const auto& selector = claim->status.allocation->node_selector;
    if (!selector || MatchesNode(*selector, node)) continue;
    unavailable_.insert(claim);
    available = false;
  }
  if (!available) return {{"resourceclaim not available on the node"}, true};
  if (unallocated_.empty()) return {};
  DeviceAllocator allocator(inventory_, selectors_, random_);
  auto found = allocator.Allocate(node, unallocated_);
  if (!found) return {{found.error().message()}, true};
  if (!*found) return {{"cannot allocate all claims"}, true};
  by_node_[node.metadata.name] = std::move(**found);
  return {};
}

std::vector<ClaimPlan> PodDevices::PlanFor(const std::string& node) const {
  std::vector<ClaimPlan> plans;
  for (const ClaimPtr& claim : allocated_)
    if (!controllers::IsReservedFor(pod_, *claim)) plans.push_back({claim, std::nullopt});
  const auto allocations = by_node_.find(node);
  for (std::size_t i = 0; allocations != by_node_.end() && i < unallocated_.size(); ++i)
    plans.push_back({unallocated_[i], allocations->second[i]});
  return plans;
}

ClaimPtr PodDevices::Stuck() const {
  for (const ClaimPtr& claim : unavailable_) {
    const auto& users = claim->status.reserved_for;
    if (users.empty() || (users.size() == 1 && users[0].uid == pod_.metadata.uid)) return claim;
  }
  return nullptr;
}

DeviceLedger::DeviceLedger(InformerFactory& informers, Random& random)
    : claims_(informers.For<ResourceClaimObject>().lister()),
      classes_(informers.For<DeviceClass>().lister()),
      slices_(informers.For<ResourceSlice>().lister()),
      rules_(informers.For<DeviceTaintRule>().lister()),
      random_(random) {}

void DeviceLedger::Promise(const ClaimPlan& plan) {
  if (plan.allocation) promised_[plan.claim->metadata.uid] = *plan.allocation;
}

void DeviceLedger::Seen(const ResourceClaimObject& claim) {
  if (claim.status.allocation) promised_.erase(claim.metadata.uid);
}

std::unique_ptr<PodDevices> DeviceLedger::Begin(const Pod& pod) {
  if (pod.spec.resource_claims.empty()) return nullptr;
  std::unique_ptr<PodDevices> devices(new PodDevices(pod, selectors_, random_));
  if (!FindClaims(*devices)) {
    devices->state_ = PodDevices::State::kWaiting;
  } else if (!CheckClaims(*devices)) {
    devices->state_ = PodDevices::State::kConflict;
  } else if (!devices->unallocated_.empty()) {
    TakeInventory(*devices);
  }
  return devices;
}

// False if one is still to be made, or is not usable.
bool DeviceLedger::FindClaims(PodDevices& devices) const {
  const Pod& pod = devices.pod_;
  for (const PodResourceClaim& entry : pod.spec.resource_claims) {
    const PodClaim named = controllers::ClaimOf(pod, entry);
    if (named.state == PodClaim::State::kNotNeeded) continue;
    if (named.state == PodClaim::State::kNotMade) return false;
    ClaimPtr claim = claims_.Get(pod.metadata.namespace_, named.name);
    if (!claim || IsDeleting(claim->metadata)) return false;
    if (named.made_for_pod && !controllers::CheckMadeFor(pod, *claim)) return false;
    auto& list = claim->status.allocation ? devices.allocated_ : devices.unallocated_;
    if (std::find(list.begin(), list.end(), claim) == list.end()) list.push_back(std::move(claim));
  }
  return true;
}

bool DeviceLedger::CheckClaims(PodDevices& devices) const {
  for (const ClaimPtr& claim : devices.allocated_) {
    if (controllers::CanBeReserved(*claim) || controllers::IsReservedFor(devices.pod_, *claim)) continue;
    devices.why_ = "resourceclaim in use";
    return false;
  }
  for (const ClaimPtr& claim : devices.unallocated_) {
    if (promised_.contains(claim->metadata.uid)) {
      devices.why_ = "resource claim " + claim->metadata.namespace_ + "/" + claim->metadata.name +
                     " is in the process of being allocated";
      return false;
    }
    if (!CheckClasses(*claim, devices)) return false;
  }
  return true;
}

bool DeviceLedger::CheckClasses(const ResourceClaimObject& claim, PodDevices& devices) const {
  for (const DeviceRequest& request : claim.spec.devices.requests)
    for (const DeviceWish& wish : WishesOf(request)) {
      ClassPtr found = classes_.Get("", *wish.class_name);
      if (!found) {
        devices.why_ = "request " + wish.name + ": device class " + *wish.class_name + " does not exist";
        return false;
      }
      devices.inventory_.classes[*wish.class_name] = std::move(found);
    }
  return true;
}

void DeviceLedger::TakeInventory(PodDevices& devices) const {
  DeviceInventory& inventory = devices.inventory_;
  inventory.slices = slices_.List();
  inventory.rules = rules_.List();
  for (const ClaimPtr& claim : claims_.List())
    if (claim->status.allocation) inventory.Take(*claim->status.allocation);
  for (const auto& [uid, allocation] : promised_) inventory.Take(allocation);
}

}  // namespace flyball::scheduler
