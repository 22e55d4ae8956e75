#include "controllers/resourceclaim/resourceclaim_controller.h"

#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/resource.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_claims.h"
#include "controllers/resourceclaim/pod_claim_making.h"

namespace flyball::controllers {
namespace {

constexpr char kClaimController[] = "resourceclaim-controller";
// Upstream's source of events.
constexpr char kClaimEvents[] = "resource_claim";
constexpr char kPodsOfClaimIndex[] = "resource-claim";
constexpr char kPodsOfTemplateIndex[] = "resource-claim-template";

std::string IndexKey(const std::string& ns, const std::string& name) {
  return ns + "/" + name;
}

// Whether a reservation still counts. A pod that the cache does not have may be too new for it, so the server
// is asked before its reservation goes.
Result<bool> IsStillReserved(const ResourceClaimObject& claim, const ResourceClaimConsumerReference& by,
                             Context& ctx) {
  if (!by.api_group.empty() || by.resource != "pods") return true;
  const auto cached = ctx.lister<Pod>().Get(claim.metadata.namespace_, by.name);
  if (cached) return cached->metadata.uid == by.uid && !IsDoneWithClaims(*cached);
  const auto live = ctx.client().Get<Pod>(claim.metadata.namespace_, by.name);
  if (live) return live->metadata.uid == by.uid;
  if (live.error().Is(Reason::kNotFound)) return false;
  return Unexpected(live.error());
}

Status DropProtection(const ResourceClaimObject& claim, Context& ctx) {
  return DropFinalizer(ctx.client(), claim, kClaimFinalizer);
}

// Writes the reservations that are left; without any, the devices are free for others.
Status DropReservations(ResourceClaimObject claim, std::vector<ResourceClaimConsumerReference> left,
                        Context& ctx) {
  claim.status.reserved_for = std::move(left);
  if (claim.status.reserved_for.empty() && HasFinalizer(claim.metadata, kClaimFinalizer))
    claim.status.allocation.reset();
  FLYBALL_ASSIGN(const ResourceClaimObject written, ctx.client().UpdateStatus(claim));
  return written.status.allocation ? Status() : DropProtection(written, ctx);
}

Status ReleaseDeleted(ResourceClaimObject claim, Context& ctx) {
  if (claim.status.allocation) {
    claim.status.allocation.reset();
    FLYBALL_ASSIGN(claim, ctx.client().UpdateStatus(claim));
  }
  return DropProtection(claim, ctx);
}

// A claim that was made for a pod goes when the pod is done, although the pod may stay.
Status DeleteIfOwnerIsDone(const ResourceClaimObject& claim, Context& ctx) {
  const auto owner = ControllerOf(claim);
  if (!owner || owner->kind != "Pod" || owner->api_version != "v1") return {};
  const auto pod = ctx.lister<Pod>().Get(claim.metadata.namespace_, owner->name);
  if (!pod || (pod->metadata.uid == owner->uid && !IsDoneWithClaims(*pod))) return {};
  const Status deleted = ctx.client().Delete(claim);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  return {};
}

Result<Action> ReconcileResourceClaim(const ResourceClaimObject& claim, Context& ctx) {
  std::vector<ResourceClaimConsumerReference> left;
  for (const ResourceClaimConsumerReference& by : claim.status.reserved_for) {
    FLYBALL_ASSIGN(const bool still, IsStillReserved(claim, by, ctx));
    if (still) left.push_back(by);
  }
  const bool unused = left.empty();
  if (left.size() < claim.status.reserved_for.size())
    FLYBALL_TRY(DropReservations(claim, std::move(left), ctx));
  else if (unused && IsDeleting(claim.metadata) && HasFinalizer(claim.metadata, kClaimFinalizer))
    FLYBALL_TRY(ReleaseDeleted(claim, ctx));
  if (unused && !IsDeleting(claim.metadata)) FLYBALL_TRY(DeleteIfOwnerIsDone(claim, ctx));
  return Done();
}

std::vector<std::string> ClaimKeys(const Pod& pod) {
  std::set<std::string> keys;
  for (const std::string& name : ClaimNames(pod)) keys.insert(IndexKey(pod.metadata.namespace_, name));
  return {keys.begin(), keys.end()};
}

std::vector<std::string> TemplateKeys(const Pod& pod) {
  std::set<std::string> keys;
  for (const PodResourceClaim& entry : pod.spec.resource_claims)
    if (entry.resource_claim_template_name)
      keys.insert(IndexKey(pod.metadata.namespace_, *entry.resource_claim_template_name));
  return {keys.begin(), keys.end()};
}

std::vector<std::string> OwnerPod(const ResourceClaimObject& claim) {
  const auto owner = ControllerOf(claim);
  if (!owner || owner->kind != "Pod" || owner->api_version != "v1") return {};
  return {std::string(owner->uid)};
}

std::vector<ObjectKey> ClaimsOfPod(const Pod& pod) {
  std::vector<ObjectKey> keys;
  for (const std::string& name : ClaimNames(pod)) keys.push_back({pod.metadata.namespace_, name});
  return keys;
}

std::vector<ObjectKey> PodsByIndex(const Lister<Pod>& pods, const char* index, const ObjectMeta& meta) {
  std::vector<ObjectKey> keys;
  for (const auto& pod : pods.ByIndex(index, IndexKey(meta.namespace_, meta.name)))
    keys.push_back({pod->metadata.namespace_, pod->metadata.name});
  return keys;
}

// Most pods have no claims, and most of their changes are of no interest.
Predicates<Pod> HasClaims() {
  return {.create = [](const Pod& pod) { return !pod.spec.resource_claims.empty(); },
          .update = [](const Pod&, const Pod& pod) { return !pod.spec.resource_claims.empty(); },
          .remove = [](const Pod&) { return false; }};
}

}  // namespace

Status AddResourceClaimController(Manager& manager, int workers) {
  const Lister<Pod> pods = manager.informers().For<Pod>().lister();
  FLYBALL_TRY(manager.For<Pod>()
                  .Named(kClaimController)
                  .EventSource(kClaimEvents)
                  .When(HasClaims())
                  .Index<Pod>(kPodsOfClaimIndex, &ClaimKeys)
                  .Index<Pod>(kPodsOfTemplateIndex, &TemplateKeys)
                  .Index<ResourceClaimObject>(kOwnerPodIndex, &OwnerPod)
                  .Watches<ResourceClaimTemplate>([pods](const ResourceClaimTemplate& from) {
                    return PodsByIndex(pods, kPodsOfTemplateIndex, from.metadata);
                  })
                  .Watches<ResourceClaimObject>([pods](const ResourceClaimObject& claim) {
                    return PodsByIndex(pods, kPodsOfClaimIndex, claim.metadata);
                  })
                  .Workers(workers)
                  .Reconcile(&ReconcilePodClaims));
  return manager.For<ResourceClaimObject>()
      .Named(std::string(kClaimController) + "-claims")
      .EventSource(kClaimEvents)
      .Watches<Pod>(&ClaimsOfPod)
      .Workers(workers)
      .Reconcile(&ReconcileResourceClaim);
}

}  // namespace flyball::controllers
