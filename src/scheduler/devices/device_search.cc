#include "scheduler/devices/device_search.h"

#include <algorithm>

namespace flyball::scheduler {
namespace {

// As many as the API takes.
constexpr std::size_t kMaxResults = 32;
// A search that takes more steps is given up (upstream: after ten seconds).
constexpr int kMaxSteps = 20'000;

std::string FullName(const ResourceClaimObject& claim) {
  return claim.metadata.namespace_ + "/" + claim.metadata.name;
}

}  // namespace

Status DeviceSearch::Prepare(const std::vector<ClaimPtr>& claims) {
  for (const DevicePool& pool : pools_) {
    if (pool.incomplete || pool.invalid) continue;
    for (const ResourceSlice* slice : pool.slices)
      for (const Device& device : slice->spec.devices)
        if (device.binding_conditions.empty() && ReachesDevice(node_, *slice, device))
          candidates_.push_back({{pool.driver, pool.name, device.name}, &device, slice, &pool});
  }
  claims_.reserve(claims.size());
  for (const ClaimPtr& claim : claims) {
    ClaimSearch& state = claims_.emplace_back();
    state.claim = claim.get();
    // Not moved again: results of matching are kept by the address of a wish.
    state.requests.resize(claim->spec.devices.requests.size());
    for (std::size_t i = 0; i < state.requests.size(); ++i)
      FLYBALL_TRY(PrepareRequest(*claim, claim->spec.devices.requests[i], state.requests[i]));
    for (const DeviceConstraint& constraint : claim->spec.devices.constraints)
      state.constraints.emplace_back(constraint);
  }
  return {};
}

Status DeviceSearch::PrepareRequest(const ResourceClaimObject& claim, const DeviceRequest& request,
                                    RequestState& state) {
  for (DeviceWish& wish : WishesOf(request)) state.alternatives.push_back({std::move(wish)});
  for (WishState& alternative : state.alternatives) {
    const auto found = inventory_.classes.find(*alternative.wish.class_name);
    if (found == inventory_.classes.end())
      return Unexpected(BadRequest("claim " + FullName(claim) + ", request " + alternative.wish.name +
                                   ": could not retrieve device class " + *alternative.wish.class_name));
    alternative.device_class = found->second.get();
    if (alternative.wish.all)
      FLYBALL_TRY(CollectAll(claim, alternative));
    else
      alternative.count = static_cast<std::size_t>(std::max<std::int64_t>(alternative.wish.count, 0));
  }
  return {};
}

// "All" is known only if every pool is.
Status DeviceSearch::CollectAll(const ResourceClaimObject& claim, WishState& state) {
  for (const DevicePool& pool : pools_) {
    if (!pool.incomplete && !pool.invalid) continue;
    return Unexpected(
        BadRequest("claim " + FullName(claim) + ", request " + state.wish.name +
                   ": asks for all devices, but resource pool " + pool.driver + "/" + pool.name +
                   (pool.incomplete ? " is currently being updated" : " is currently invalid")));
  }
  for (const DeviceCandidate& candidate : candidates_) {
    FLYBALL_ASSIGN(const bool selectable, IsSelectable(claim, state, candidate));
    if (!selectable) continue;
    const auto amounts = AmountsOf(*state.wish.capacity, *candidate.device);
    if (amounts && Fits(*amounts, {}, *candidate.device)) state.all_devices.push_back(candidate);
  }
  state.count = state.all_devices.size();
  return {};
}

Result<bool> DeviceSearch::SelectorsMatch(const std::vector<DeviceSelector>& selectors,
                                          const std::string& whose, const DeviceCandidate& candidate) {
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    if (!selectors[i].cel) return false;
    const auto matches =
        selectors_.Match(selectors[i].cel->expression, candidate.id.driver, *candidate.device);
    if (!matches)
      return Unexpected(BadRequest(whose + ": selector #" + std::to_string(i) + " on device " +
                                   candidate.id.ToString() + ": " + matches.error().message()));
    if (!*matches) return false;
  }
  return true;
}

Result<bool> DeviceSearch::IsSelectable(const ResourceClaimObject& claim, const WishState& state,
                                        const DeviceCandidate& candidate) {
  const auto [known, fresh] = matches_.try_emplace({&state.wish, candidate.device}, false);
  if (!fresh) return known->second;
  FLYBALL_ASSIGN(const bool by_class,
                 SelectorsMatch(state.device_class->spec.selectors,
                                "class " + state.device_class->metadata.name, candidate));
  if (!by_class) return false;
  FLYBALL_ASSIGN(const bool by_request,
                 SelectorsMatch(*state.wish.selectors, "claim " + FullName(claim), candidate));
  matches_[{&state.wish, candidate.device}] = by_request;
  return by_request;
}

Result<bool> DeviceSearch::Run() {
  FLYBALL_ASSIGN(const SearchOutcome outcome, FromClaim(0));
  if (outcome == SearchOutcome::kFound) return true;
  const bool invalid =
      std::any_of(pools_.begin(), pools_.end(), [](const DevicePool& pool) { return pool.invalid; });
  if (invalid) return Unexpected(Error(Reason::kInvalid, "invalid resource pools were encountered"));
  return false;
}

Result<SearchOutcome> DeviceSearch::FromClaim(std::size_t claim) {
  if (claim == claims_.size()) return SearchOutcome::kFound;
  FLYBALL_ASSIGN(const SearchOutcome outcome, FromRequest(claim, 0));
  // Fewer devices of an earlier claim may still help.
  return outcome == SearchOutcome::kTooMany ? SearchOutcome::kNone : outcome;
}

Result<SearchOutcome> DeviceSearch::FromRequest(std::size_t claim, std::size_t request) {
  if (request == claims_[claim].requests.size()) return FromClaim(claim + 1);
  RequestState& state = claims_[claim].requests[request];
  bool too_many = true;
  for (std::size_t i = 0; i < state.alternatives.size(); ++i) {
    state.chosen = i;
    FLYBALL_ASSIGN(const SearchOutcome outcome, FromDevice(claim, request, 0, 0));
    if (outcome == SearchOutcome::kFound) return outcome;
    too_many = too_many && outcome == SearchOutcome::kTooMany;
  }
  return too_many ? SearchOutcome::kTooMany : SearchOutcome::kNone;
}

Result<SearchOutcome> DeviceSearch::FromDevice(std::size_t claim, std::size_t request, std::size_t device,
                                               std::size_t from) {
  if (++steps_ > kMaxSteps)
    return Unexpected(
        Error(Reason::kTimeout, "node " + node_.metadata.name + ": timed out trying to allocate devices"));
  const RequestState& state = claims_[claim].requests[request];
  const WishState& wish = state.alternatives[state.chosen];
  if (wish.wish.all && wish.all_devices.empty()) return SearchOutcome::kNone;
  if (device == wish.count) return FromRequest(claim, request + 1);
  if (wish.count - device > kMaxResults - claims_[claim].choices.size()) return SearchOutcome::kTooMany;
  if (wish.wish.all) return TryDevice(claim, request, device, 0, wish.all_devices[device]);
  for (std::size_t i = from; i < candidates_.size(); ++i) {
    if (IsTaken(claims_[claim], wish, candidates_[i])) continue;
    FLYBALL_ASSIGN(const bool selectable, IsSelectable(*claims_[claim].claim, wish, candidates_[i]));
    if (!selectable) continue;
    FLYBALL_ASSIGN(const SearchOutcome outcome, TryDevice(claim, request, device, i + 1, candidates_[i]));
    if (outcome != SearchOutcome::kNone) return outcome;
  }
  return SearchOutcome::kNone;
}

Result<SearchOutcome> DeviceSearch::TryDevice(std::size_t claim, std::size_t request, std::size_t device,
                                              std::size_t next, const DeviceCandidate& candidate) {
  ClaimSearch& state = claims_[claim];
  const RequestState& requested = state.requests[request];
  DeviceChoice choice{candidate, &requested.alternatives[requested.chosen], {}};
  if (!Take(state, *choice.wish, candidate, choice.consumed)) return SearchOutcome::kNone;
  state.choices.push_back(choice);
  const auto outcome = FromDevice(claim, request, device + 1, next);
  if (outcome && *outcome == SearchOutcome::kFound) return outcome;
  state.choices.pop_back();
  GiveBack(state, choice);
  return outcome;
}

}  // namespace flyball::scheduler
