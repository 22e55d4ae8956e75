// ControllerRefManager: decides which of the objects that match a selector belong to an owner. It adopts
// orphans and releases objects that no longer match (upstream: pkg/controller ControllerRefManager).
//
// An object owned by another is left alone. One owned by us that matches is kept; one that does not match is
// released. A matching orphan is adopted, unless it or the owner is being deleted. Before the first adoption,
// the owner is read once from the server (not from the cache), because adopting for a deleted owner would
// undo the garbage collector's work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "controller/objects/owner.h"

namespace flyball {

// Confined to one reconcile.
template <ApiObject Owner, ApiObject Child>
class ControllerRefManager {
 public:
  using Ptr = std::shared_ptr<const Child>;

  ControllerRefManager(Client client, const Owner& owner, std::function<bool(const Child&)> matches)
      : client_(std::move(client)), owner_(owner), matches_(std::move(matches)) {}

  // Returns those of `candidates` that are ours afterwards. Returns an error if an adoption or a release
  // failed (the other candidates have still been processed).
  Result<std::vector<Ptr>> Claim(const std::vector<Ptr>& candidates) {
    std::vector<Ptr> claimed;
    Status status;
    for (const Ptr& child : candidates) {
      const Result<bool> ours = ClaimOne(*child);
      if (!ours)
        status = Unexpected(ours.error());
      else if (*ours)
        claimed.push_back(child);
    }
    if (!status) return Unexpected(status.error());
    return claimed;
  }

 private:
  Result<bool> ClaimOne(const Child& child) {
    const bool matches = matches_(child);
    if (const auto controller = ControllerOf(child)) {
      if (controller->uid != owner_.metadata.uid) return false;
      if (matches) return true;
      if (IsDeleting(owner_.metadata)) return false;
      FLYBALL_TRY(Release(child));
      return false;
    }
    if (IsDeleting(owner_.metadata) || !matches || IsDeleting(child.metadata)) return false;
    return Adopt(child);
  }

  Result<bool> Adopt(const Child& child) {
    FLYBALL_TRY(CanAdopt());
    json::Value ref = ToJson(ControllerRefTo(owner_));
    json::Value patch(json::Object{{"metadata", json::Object{{"ownerReferences", json::Array{std::move(ref)}},
                                                             {"uid", child.metadata.uid}}}});
    const auto patched = client_.Patch<Child>(child.metadata.namespace_, child.metadata.name,
                                              PatchType::kStrategicMerge, patch);
    if (patched) return true;
    if (patched.error().Is(Reason::kNotFound)) return false;
    return Unexpected(patched.error());
  }

  Status Release(const Child& child) {
    json::Value drop(json::Object{{"$patch", "delete"}, {"uid", owner_.metadata.uid}});
    json::Value patch(
        json::Object{{"metadata", json::Object{{"ownerReferences", json::Array{std::move(drop)}},
                                               {"uid", child.metadata.uid}}}});
    const auto patched = client_.Patch<Child>(child.metadata.namespace_, child.metadata.name,
                                              PatchType::kStrategicMerge, patch);
    // 404: already gone. 422: its UID differs, or it never had our reference.
    if (patched || patched.error().Is(Reason::kNotFound) || patched.error().Is(Reason::kInvalid)) return {};
    return Unexpected(patched.error());
  }

  Status CanAdopt() {
    if (!can_adopt_) can_adopt_ = CheckOwner();
    return *can_adopt_;
  }
  Status CheckOwner() {
    const auto fresh = client_.Get<Owner>(owner_.metadata.namespace_, owner_.metadata.name);
    if (!fresh) return Unexpected(fresh.error());
    if (fresh->metadata.uid != owner_.metadata.uid)
      return Unexpected(Error(Reason::kConflict, "the owner is gone: another has taken its name"));
    if (IsDeleting(fresh->metadata))
      return Unexpected(Error(Reason::kConflict, "the owner is being deleted"));
    return {};
  }

  const Client client_;
  const Owner& owner_;
  const std::function<bool(const Child&)> matches_;
  std::optional<Status> can_adopt_;
};

}  // namespace flyball
