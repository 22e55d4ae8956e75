// One search for devices: see device_allocator.h. Internal to the allocator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/devices/device_allocator.h"
#include "scheduler/devices/device_constraints.h"
#include "scheduler/devices/device_requests.h"

namespace flyball::scheduler {

struct DeviceCandidate {
  DeviceId id;
  const Device* device = nullptr;
  const ResourceSlice* slice = nullptr;
  const DevicePool* pool = nullptr;
  bool IsShared() const { return device->allow_multiple_allocations.value_or(false); }
};

// A request of a claim with its alternatives and, of each, what was found out before the search.
struct WishState {
  DeviceWish wish;
  const DeviceClass* device_class = nullptr;
  std::vector<DeviceCandidate> all_devices;  // of a wish for all
  std::size_t count = 0;
};
struct RequestState {
  std::vector<WishState> alternatives;
  std::size_t chosen = 0;
};
struct DeviceChoice {
  DeviceCandidate candidate;
  const WishState* wish = nullptr;
  Amounts consumed;
};
struct ClaimSearch {
  const ResourceClaimObject* claim = nullptr;
  std::vector<RequestState> requests;
  std::vector<ConstraintState> constraints;
  std::vector<DeviceChoice> choices;
};

// kTooMany: the claim would get more devices than fit into its status.
enum class SearchOutcome { kFound, kNone, kTooMany };

// One call of Allocate. Confined to it; borrows what it is made from.
class DeviceSearch {
 public:
  DeviceSearch(const DeviceInventory& inventory, DeviceSelectors& selectors, const Node& node)
      : inventory_(inventory),
        selectors_(selectors),
        node_(node),
        pools_(GatherPools(inventory.slices, node)) {}

  Status Prepare(const std::vector<ClaimPtr>& claims);
  // Whether there is a solution. Requires Prepare.
  Result<bool> Run();
  // Requires that Run found one.
  std::vector<AllocationResult> Results(Random& random) const;

 private:
  using CounterKey = std::pair<std::string, std::string>;  // set, counter
  using Counters = std::map<CounterKey, api::Quantity>;

  Status PrepareRequest(const ResourceClaimObject& claim, const DeviceRequest& request, RequestState& state);
  Status CollectAll(const ResourceClaimObject& claim, WishState& state);
  Result<bool> IsSelectable(const ResourceClaimObject& claim, const WishState& state,
                            const DeviceCandidate& candidate);
  Result<bool> SelectorsMatch(const std::vector<DeviceSelector>& selectors, const std::string& whose,
                              const DeviceCandidate& candidate);

  // The rest of the search, from a claim, a request of it, or a device of a request on. `from`: the first
  // candidate to look at, because the devices of one request have no order.
  Result<SearchOutcome> FromClaim(std::size_t claim);
  Result<SearchOutcome> FromRequest(std::size_t claim, std::size_t request);
  Result<SearchOutcome> FromDevice(std::size_t claim, std::size_t request, std::size_t device,
                                   std::size_t from);
  Result<SearchOutcome> TryDevice(std::size_t claim, std::size_t request, std::size_t device,
                                  std::size_t next, const DeviceCandidate& candidate);

  bool Take(ClaimSearch& claim, const WishState& wish, const DeviceCandidate& candidate, Amounts& consumed);
  bool IsTaken(const ClaimSearch& claim, const WishState& wish, const DeviceCandidate& candidate) const;
  void GiveBack(ClaimSearch& claim, const DeviceChoice& choice);
  bool TaintsAreTolerated(const WishState& wish, const DeviceCandidate& candidate) const;
  bool TakeCounters(const DeviceCandidate& candidate);
  void GiveCountersBack(const DeviceCandidate& candidate);
  Counters& FreeCounters(const DevicePool& pool);
  bool IsInUse(const DeviceId& id) const {
    return inventory_.allocated.contains(id) || inventory_.shared.contains(id) || taken_.contains(id);
  }
  api::Optional<NodeSelector> SelectorOf(const ClaimSearch& claim) const;

  const DeviceInventory& inventory_;
  DeviceSelectors& selectors_;
  const Node& node_;
  const std::vector<DevicePool> pools_;
  std::vector<DeviceCandidate> candidates_;  // of pools that are complete and valid, in order
  std::vector<ClaimSearch> claims_;
  std::map<std::pair<const DeviceWish*, const Device*>, bool> matches_;
  std::map<DeviceId, int> taken_;                   // by this search: how often
  std::map<DeviceId, Amounts> consumed_;            // of shared devices, by this search
  std::map<const DevicePool*, Counters> counters_;  // what is left
  int steps_ = 0;
};

}  // namespace flyball::scheduler
