// PodDevices: the claims of one pod while it is being placed. DeviceLedger: what the scheduler knows of
// claims and devices, with the allocations it has decided on but that the API does not show yet (upstream:
// the DynamicResources plugin and its manager).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/random.h"
#include "informer/informer_factory.h"
#include "scheduler/devices/device_allocator.h"
#include "scheduler/filter/filters.h"

namespace flyball::scheduler {

// What binding a pod means for one of its claims.
struct ClaimPlan {
  ClaimPtr claim;
  std::optional<AllocationResult> allocation;  // to be written; unset if it is allocated already
};

// Confined to one attempt.
class PodDevices {
 public:
  enum class State {
    kWaiting,   // a claim does not exist yet: the pod is not tried
    kConflict,  // no node can help: `why`
    kReady
  };

  State state() const { return state_; }
  const std::string& why() const { return why_; }

  // Whether the claims are, or can be, satisfied on the node. Remembers how.
  Rejection Check(const Node& node);
  // What to write if the pod goes to the node. Requires that Check found it feasible.
  std::vector<ClaimPlan> PlanFor(const std::string& node) const;
  // A claim that ties the pod to nodes it cannot go to, though nobody else uses it: freeing it may help. Null
  // if there is none.
  ClaimPtr Stuck() const;

 private:
  friend class DeviceLedger;
  PodDevices(const Pod& pod, DeviceSelectors& selectors, Random& random)
      : pod_(pod), selectors_(selectors), random_(random) {}

  const Pod& pod_;
  DeviceSelectors& selectors_;
  Random& random_;
  State state_ = State::kReady;
  std::string why_;
  std::vector<ClaimPtr> allocated_, unallocated_;
  DeviceInventory inventory_;
  std::map<std::string, std::vector<AllocationResult>> by_node_;
  std::set<ClaimPtr> unavailable_;
};

// Confined to the scheduler's strand.
class DeviceLedger {
 public:
  DeviceLedger(InformerFactory& informers, Random& random);

  // Null if the pod has no claims. The result refers to the pod.
  std::unique_ptr<PodDevices> Begin(const Pod& pod);

  // The allocation counts from now on, until the API shows it or Forget takes it back.
  void Promise(const ClaimPlan& plan);
  void Forget(const std::string& claim_uid) { promised_.erase(claim_uid); }
  // The API shows the claim so.
  void Seen(const ResourceClaimObject& claim);

 private:
  bool FindClaims(PodDevices& devices) const;
  bool CheckClaims(PodDevices& devices) const;
  bool CheckClasses(const ResourceClaimObject& claim, PodDevices& devices) const;
  void TakeInventory(PodDevices& devices) const;

  const Lister<ResourceClaimObject> claims_;
  const Lister<DeviceClass> classes_;
  const Lister<ResourceSlice> slices_;
  const Lister<DeviceTaintRule> rules_;
  Random& random_;
  DeviceSelectors selectors_;
  std::map<std::string, AllocationResult> promised_;  // by the claim's UID
};

}  // namespace flyball::scheduler
