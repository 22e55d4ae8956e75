#include "scheduler/devices/claim_writer.h"

#include <utility>

#include "base/observe/log.h"
#include "controller/objects/owner.h"
#include "controller/objects/retry.h"
#include "controller/pods/pod_claims.h"

namespace flyball::scheduler {
namespace {

Error Changed(const ResourceClaimObject& claim, std::string_view how) {
  return Error(Reason::kConflict, "claim " + claim.metadata.namespace_ + "/" + claim.metadata.name + " got " +
                                      std::string(how) + " in the meantime");
}

}  // namespace

void ClaimWriter::Start(Client client, std::shared_ptr<const Pod> pod, std::vector<ClaimPlan> plans,
                        Done done) {
  std::shared_ptr<ClaimWriter> writer(
      new ClaimWriter(std::move(client), std::move(pod), std::move(plans), std::move(done)));
  writer->Next();
}

void ClaimWriter::Free(const Client& client, const ResourceClaimObject& claim) {
  ResourceClaimObject freed = claim;
  freed.status.allocation.reset();
  freed.status.reserved_for.clear();
  client.Of<ResourceClaimObject>().UpdateAsync(
      ToJson(freed), {.subresource = "status"},
      [name = claim.metadata.name](const Result<json::Value>& result) {
        if (!result && !result.error().Is(Reason::kConflict))
          log::Warning("devices of a claim were not freed",
                       {{"claim", name}, {"error", result.error().ToString()}});
      });
}

void ClaimWriter::Next() {
  if (at_ == plans_.size()) return done_({});
  attempts_ = 0;
  Write(*plans_[at_].claim);
}

void ClaimWriter::Write(const ResourceClaimObject& claim) {
  const bool allocates = plans_[at_].allocation.has_value();
  if (IsDeleting(claim.metadata)) return done_(Unexpected(Changed(claim, "deleted")));
  if (allocates && claim.status.allocation) return done_(Unexpected(Changed(claim, "allocated elsewhere")));
  if (!allocates && !claim.status.allocation)
    return done_(Unexpected(Changed(claim, "deallocated elsewhere")));
  if (allocates && !HasFinalizer(claim.metadata, controllers::kClaimFinalizer)) return Protect(claim);
  Reserve(claim);
}

// A status update cannot add the finalizer.
void ClaimWriter::Protect(ResourceClaimObject claim) {
  AddFinalizer(claim.metadata, controllers::kClaimFinalizer);
  client_.Of<ResourceClaimObject>().UpdateAsync(
      ToJson(claim), {},
      [self = shared_from_this()](const Result<json::Value>& result) { self->Written(result, false); });
}

void ClaimWriter::Reserve(ResourceClaimObject claim) {
  if (plans_[at_].allocation) claim.status.allocation = *plans_[at_].allocation;
  if (!claim.status.allocation->allocation_timestamp)
    claim.status.allocation->allocation_timestamp =
        api::Time{api::Time::From(client_.runtime().clock().Now()).seconds, 0};
  if (!controllers::IsReservedFor(*pod_, claim))
    claim.status.reserved_for.push_back(controllers::ReservationFor(*pod_));
  client_.Of<ResourceClaimObject>().UpdateAsync(
      ToJson(claim), {.subresource = "status"},
      [self = shared_from_this()](const Result<json::Value>& result) { self->Written(result, true); });
}

void ClaimWriter::Written(const Result<json::Value>& result, bool last) {
  if (!result) {
    if (result.error().Is(Reason::kConflict) && ++attempts_ < kConflictAttempts) return ReadAgain();
    return done_(Unexpected(result.error()));
  }
  if (last) {
    ++at_;
    return Next();
  }
  ResourceClaimObject claim;
  if (Status read = FromJson(*result, &claim); !read) return done_(read);
  Reserve(std::move(claim));
}

void ClaimWriter::ReadAgain() {
  const ObjectMeta& meta = plans_[at_].claim->metadata;
  client_.Of<ResourceClaimObject>().GetAsync(meta.namespace_, meta.name,
                                             [self = shared_from_this()](const Result<json::Value>& result) {
                                               if (!result) return self->done_(Unexpected(result.error()));
                                               ResourceClaimObject claim;
                                               if (Status read = FromJson(*result, &claim); !read)
                                                 return self->done_(read);
                                               self->Write(claim);
                                             });
}

}  // namespace flyball::scheduler
