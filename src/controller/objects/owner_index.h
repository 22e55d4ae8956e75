// The owner index finds the objects that an owner controls, and the orphans of a namespace, without looking
// at all other objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "informer/informer_factory.h"

namespace flyball::controllers {

inline constexpr std::string_view kOwnerIndex = "controller-uid";

// The index value for the orphans of a namespace; no UID looks like it.
inline std::string OrphansOf(std::string_view ns) {
  return "orphans/" + std::string(ns);
}

// Adds the owner index to the cache of T. Several controllers request it; the first one creates it.
template <ApiObject T>
Status AddOwnerIndex(InformerFactory& informers) {
  const Status added = informers.For<T>().AddIndex(std::string(kOwnerIndex), [](const T& object) {
    const auto owner = ControllerOf(object);
    return std::vector<std::string>{owner ? std::string(owner->uid) : OrphansOf(object.metadata.namespace_)};
  });
  if (!added && !added.error().Is(Reason::kAlreadyExists)) return added;
  return {};
}

template <ApiObject T>
std::vector<std::shared_ptr<const T>> ControlledBy(const Lister<T>& cache, const std::string& owner_uid) {
  return cache.ByIndex(kOwnerIndex, owner_uid);
}

// Returns the objects that an owner controls or might adopt.
template <ApiObject T>
std::vector<std::shared_ptr<const T>> ControlledOrOrphan(const Lister<T>& cache, const ObjectMeta& owner) {
  auto found = cache.ByIndex(kOwnerIndex, owner.uid);
  for (auto& orphan : cache.ByIndex(kOwnerIndex, OrphansOf(owner.namespace_)))
    found.push_back(std::move(orphan));
  return found;
}

}  // namespace flyball::controllers
