// The resource claims of a pod: which they are, and whose (upstream: dynamic-resource-allocation's
// resourceclaim package). Functions only; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/resource.h"
#include "base/values/result.h"

namespace flyball::controllers {

// Protects a claim whose devices the scheduler has allocated.
inline constexpr char kClaimFinalizer[] = "resource.kubernetes.io/delete-protection";
// On a claim made from a template: the name that the pod's spec has for it.
inline constexpr char kPodClaimAnnotation[] = "resource.kubernetes.io/pod-claim-name";

// The claim that an entry of a pod's spec.resourceClaims stands for.
struct PodClaim {
  enum class State {
    kNamed,      // it has this name, though it may be gone
    kNotNeeded,  // it was decided that none is needed
    kNotMade     // it is still to be made from a template
  };
  State state = State::kNotMade;
  std::string name{};
  bool made_for_pod = false;  // from a template: its owner has to be the pod
};
PodClaim ClaimOf(const Pod& pod, const PodResourceClaim& entry);
// The names of all claims of the pod that have one, also of the one for its extended resources.
std::vector<std::string> ClaimNames(const Pod& pod);

// Conflict if the claim was not made for the pod.
Status CheckMadeFor(const Pod& pod, const ResourceClaimObject& claim);
bool IsReservedFor(const Pod& pod, const ResourceClaimObject& claim);
// Whether another pod could get it too.
bool CanBeReserved(const ResourceClaimObject& claim);
// A reservation for the pod.
ResourceClaimConsumerReference ReservationFor(const Pod& pod);
// Finished, or deleted before it had a node: it will not use its claims any more.
bool IsDoneWithClaims(const Pod& pod);

}  // namespace flyball::controllers
