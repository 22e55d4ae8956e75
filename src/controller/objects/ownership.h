// Finds the owners that an object concerns, and the objects that an owner has. Shared by all kinds that
// select by labels.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/select/matching.h"
#include "controller/objects/controller_ref.h"
#include "controller/objects/owner_index.h"
#include "controller/worker/controller.h"

namespace flyball::controllers {

// Returns the owners to reconcile because of an object: its controller or, for an orphan, those that may
// adopt it.
template <ApiObject Owner, ApiObject T>
std::vector<ObjectKey> OwnersOf(const Lister<Owner>& owners, const T& object) {
  const std::string& ns = object.metadata.namespace_;
  if (const auto owner = ControllerOf(object)) {
    if (owner->kind != KindTraits<Owner>::kind) return {};
    return {ObjectKey{ns, std::string(owner->name)}};
  }
  std::vector<ObjectKey> keys;
  for (const auto& owner : owners.List(ns))
    if (Matches(owner->spec.selector, object.metadata.labels)) keys.push_back({ns, owner->metadata.name});
  return keys;
}

// Returns the objects that an owner controls and selects, after adopting orphans and releasing objects that
// it no longer selects. `fits` is an additional condition.
template <ApiObject T, ApiObject Owner>
Result<std::vector<std::shared_ptr<const T>>> Claim(const Owner& owner, Context& ctx,
                                                    std::function<bool(const T&)> fits = nullptr) {
  ControllerRefManager<Owner, T> refs(ctx.client(), owner, [&](const T& object) {
    return Matches(owner.spec.selector, object.metadata.labels) && (!fits || fits(object));
  });
  return refs.Claim(ControlledOrOrphan(ctx.lister<T>(), owner.metadata));
}

}  // namespace flyball::controllers
