#include "controllers/resourceclaim/pod_claim_making.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/types/resource.h"
#include "api/values/go_text.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_claims.h"

namespace flyball::controllers {
namespace {

constexpr char kFieldManager[] = "ResourceClaimController";
// Leaves room for a hyphen and five random characters in a name of 63.
constexpr std::size_t kMaxBaseLength = 57;

using ClaimNamesByEntry = std::map<std::string, std::string>;

// "<pod>-<claim>-", both cut in proportion to their lengths if that is too long.
std::string GenerateName(const std::string& pod, const std::string& entry) {
  const std::string whole = pod + "-" + entry + "-";
  if (whole.size() <= kMaxBaseLength) return whole;
  return pod.substr(0, pod.size() * kMaxBaseLength / whole.size()) + "-" +
         entry.substr(0, entry.size() * kMaxBaseLength / whole.size());
}

ResourceClaimObject NewClaim(const Pod& pod, const PodResourceClaim& entry,
                             const ResourceClaimTemplate& from) {
  ResourceClaimObject claim;
  claim.metadata.generate_name = GenerateName(pod.metadata.name, entry.name);
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.labels = from.spec.metadata.labels;
  claim.metadata.annotations = from.spec.metadata.annotations;
  claim.metadata.annotations[kPodClaimAnnotation] = entry.name;
  OwnerReference owner = ControllerRefTo(pod);
  owner.block_owner_deletion = std::nullopt;
  claim.metadata.owner_references.push_back(std::move(owner));
  claim.spec = from.spec.spec;
  return claim;
}

// A claim that was made for this entry before its name could be recorded; null if there is none.
std::shared_ptr<const ResourceClaimObject> FindMade(const Pod& pod, const PodResourceClaim& entry,
                                                    Context& ctx) {
  for (const auto& claim : ctx.lister<ResourceClaimObject>().ByIndex(kOwnerPodIndex, pod.metadata.uid)) {
    const auto annotation = claim->metadata.annotations.find(kPodClaimAnnotation);
    if (annotation != claim->metadata.annotations.end() && annotation->second == entry.name &&
        claim->metadata.namespace_ == pod.metadata.namespace_ && !IsDeleting(claim->metadata))
      return claim;
  }
  return nullptr;
}

Result<std::string> MakeClaim(const Pod& pod, const PodResourceClaim& entry, Context& ctx) {
  if (const auto made = FindMade(pod, entry, ctx)) return made->metadata.name;
  const std::string& name = *entry.resource_claim_template_name;
  const auto from = ctx.lister<ResourceClaimTemplate>().Get(pod.metadata.namespace_, name);
  if (!from)
    return Unexpected(Error(Reason::kNotFound, "resource claim template " + api::GoQuote(name) +
                                                   ": resourceclaimtemplate.resource.k8s.io " +
                                                   api::GoQuote(name) + " not found"));
  const auto made = ctx.client().Create(NewClaim(pod, entry, *from));
  if (!made)
    return Unexpected(Error(made.error().reason(), "create ResourceClaim : " + made.error().message()));
  return made->metadata.name;
}

// Whether the claim that the pod's status names is there. The cache may be behind, so the server is asked
// before another is made.
Result<bool> Exists(const Pod& pod, const PodClaim& named, Context& ctx) {
  if (const auto cached = ctx.lister<ResourceClaimObject>().Get(pod.metadata.namespace_, named.name))
    return !named.made_for_pod || CheckMadeFor(pod, *cached).has_value();
  const auto live = ctx.client().Get<ResourceClaimObject>(pod.metadata.namespace_, named.name);
  if (live) return !named.made_for_pod || CheckMadeFor(pod, *live).has_value();
  if (live.error().Is(Reason::kNotFound)) return false;
  return Unexpected(live.error());
}

Status HandleEntry(const Pod& pod, const PodResourceClaim& entry, Context& ctx, ClaimNamesByEntry& made) {
  const PodClaim claim = ClaimOf(pod, entry);
  if (claim.state == PodClaim::State::kNotNeeded || !entry.resource_claim_template_name) return {};
  if (claim.state == PodClaim::State::kNamed) {
    FLYBALL_ASSIGN(const bool exists, Exists(pod, claim, ctx));
    if (exists) return {};
  }
  FLYBALL_ASSIGN(made[entry.name], MakeClaim(pod, entry, ctx));
  return {};
}

Status RecordNames(const Pod& pod, const ClaimNamesByEntry& made, Context& ctx) {
  if (made.empty()) return {};
  ClaimNamesByEntry all = made;
  for (const PodResourceClaimStatus& status : pod.status.resource_claim_statuses)
    if (status.resource_claim_name) all.emplace(status.name, *status.resource_claim_name);
  json::Array statuses;
  for (const auto& [entry, name] : all)
    statuses.emplace_back(json::Object{{"name", entry}, {"resourceClaimName", name}});
  json::Value object = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", json::Object{{"name", pod.metadata.name}, {"namespace", pod.metadata.namespace_}}},
      {"status", json::Object{{"resourceClaimStatuses", std::move(statuses)}}}};
  FLYBALL_TRY(ctx.client().Of<Pod>().Apply(
      std::move(object), {.field_manager = kFieldManager, .force = true, .subresource = "status"}));
  return {};
}

// The pod has a node, though the scheduler has not reserved its claims: it was put there by someone else.
Status ReserveClaims(const Pod& pod, Context& ctx) {
  for (const PodResourceClaim& entry : pod.spec.resource_claims) {
    const PodClaim named = ClaimOf(pod, entry);
    if (named.state != PodClaim::State::kNamed) continue;
    const auto claim = ctx.lister<ResourceClaimObject>().Get(pod.metadata.namespace_, named.name);
    if (!claim) return {};
    if (named.made_for_pod) FLYBALL_TRY(CheckMadeFor(pod, *claim));
    if (!claim->status.allocation || IsReservedFor(pod, *claim) || !CanBeReserved(*claim)) continue;
    ResourceClaimObject reserved = *claim;
    reserved.status.reserved_for.push_back(ReservationFor(pod));
    FLYBALL_TRY(ctx.client().UpdateStatus(reserved));
  }
  return {};
}

}  // namespace

Result<Action> ReconcilePodClaims(const Pod& pod, Context& ctx) {
  if (IsDeleting(pod.metadata) || IsDoneWithClaims(pod)) return Done();
  ClaimNamesByEntry made;
  for (const PodResourceClaim& entry : pod.spec.resource_claims) {
    const Status handled = HandleEntry(pod, entry, ctx, made);
    if (handled) continue;
    ctx.recorder().Warning(pod, "FailedResourceClaimCreation",
                           "PodResourceClaim " + entry.name + ": " + handled.error().message());
    return Unexpected(handled.error());
  }
  FLYBALL_TRY(RecordNames(pod, made, ctx));
  if (!pod.spec.node_name.empty() && made.empty()) FLYBALL_TRY(ReserveClaims(pod, ctx));
  return Done();
}

}  // namespace flyball::controllers
