#include "controller/pods/pod_claims.h"

#include <algorithm>

#include "controller/objects/owner.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

// As many as the API takes.
constexpr std::size_t kMaxReservations = 256;

std::string FullName(const ObjectMeta& meta) {
  return meta.namespace_ + "/" + meta.name;
}

}  // namespace

PodClaim ClaimOf(const Pod& pod, const PodResourceClaim& entry) {
  using State = PodClaim::State;
  if (entry.resource_claim_name) return {State::kNamed, *entry.resource_claim_name, false};
  for (const PodResourceClaimStatus& status : pod.status.resource_claim_statuses) {
    if (status.name != entry.name) continue;
    if (!status.resource_claim_name) return {State::kNotNeeded};
    return {State::kNamed, *status.resource_claim_name, true};
  }
  return {State::kNotMade};
}

std::vector<std::string> ClaimNames(const Pod& pod) {
  std::vector<std::string> names;
  for (const PodResourceClaim& entry : pod.spec.resource_claims)
    if (PodClaim claim = ClaimOf(pod, entry); claim.state == PodClaim::State::kNamed)
      names.push_back(std::move(claim.name));
  if (const auto& extended = pod.status.extended_resource_claim_status)
    names.push_back(extended->resource_claim_name);
  return names;
}

Status CheckMadeFor(const Pod& pod, const ResourceClaimObject& claim) {
  const auto owner = ControllerOf(claim);
  if (owner && owner->uid == pod.metadata.uid) return {};
  return Unexpected(Error(Reason::kConflict, "ResourceClaim " + FullName(claim.metadata) +
                                                 " was not created for Pod " + FullName(pod.metadata) +
                                                 " (Pod is not owner)"));
}

bool IsReservedFor(const Pod& pod, const ResourceClaimObject& claim) {
  return std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(),
                     [&](const auto& reserved) { return reserved.uid == pod.metadata.uid; });
}

bool CanBeReserved(const ResourceClaimObject& claim) {
  return claim.status.reserved_for.size() < kMaxReservations;
}

ResourceClaimConsumerReference ReservationFor(const Pod& pod) {
  ResourceClaimConsumerReference reference;
  reference.resource = "pods";
  reference.name = pod.metadata.name;
  reference.uid = pod.metadata.uid;
  return reference;
}

bool IsDoneWithClaims(const Pod& pod) {
  return IsPodFinished(pod) || (IsDeleting(pod.metadata) && pod.spec.node_name.empty());
}

}  // namespace flyball::controllers
