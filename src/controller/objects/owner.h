// Owners, finalizers and conditions: the parts of an object that controllers write besides its actual
// content.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/kind_traits.h"
#include "api/types/meta.h"
#include "api/types/object_access.h"
#include "api/values/time.h"
#include "client/client.h"

namespace flyball {

// Returns a reference to `owner` as the controller of an object.
template <ApiObject T>
OwnerReference ControllerRefTo(const T& owner) {
  OwnerReference ref;
  ref.api_version = KindRefOf<T>().ApiVersion();
  ref.kind = std::string(KindTraits<T>::kind);
  ref.name = owner.metadata.name;
  ref.uid = owner.metadata.uid;
  ref.controller = true;
  ref.block_owner_deletion = true;
  return ref;
}

// Returns metadata for an object that belongs to `owner`: in its namespace, with its name (or `name`), and
// deleted with it.
template <ApiObject T>
ObjectMeta ChildOf(const T& owner, std::string_view name = {}) {
  ObjectMeta meta;
  meta.name = name.empty() ? owner.metadata.name : std::string(name);
  meta.namespace_ = owner.metadata.namespace_;
  meta.owner_references.push_back(ControllerRefTo(owner));
  return meta;
}

template <ApiObject T, ApiObject O>
bool IsControlledBy(const T& object, const O& owner) {
  const auto controller = ControllerOf(object);
  return controller && controller->uid == owner.metadata.uid;
}

inline bool IsDeleting(const ObjectMeta& meta) {
  return meta.deletion_timestamp.has_value();
}

inline bool HasFinalizer(const ObjectMeta& meta, std::string_view finalizer) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), finalizer) != meta.finalizers.end();
}
// Returns true if it was absent.
inline bool AddFinalizer(ObjectMeta& meta, std::string_view finalizer) {
  if (HasFinalizer(meta, finalizer)) return false;
  meta.finalizers.emplace_back(finalizer);
  return true;
}
// Returns true if it was present.
inline bool RemoveFinalizer(ObjectMeta& meta, std::string_view finalizer) {
  return std::erase(meta.finalizers, finalizer) > 0;
}

// Writes the finalizers of an object, but only if nobody has changed it since (checked by its resource
// version). Returns the current object.
template <ApiObject T>
Result<T> WriteFinalizers(const Client& client, const T& object, const std::vector<std::string>& finalizers) {
  json::Array list;
  for (const std::string& finalizer : finalizers) list.emplace_back(finalizer);
  json::Object meta{{"finalizers", std::move(list)}, {"resourceVersion", object.metadata.resource_version}};
  return client.Patch<T>(object.metadata.namespace_, object.metadata.name, PatchType::kMerge,
                         json::Value(json::Object{{"metadata", std::move(meta)}}));
}
template <ApiObject T>
Status EnsureFinalizer(const Client& client, const T& object, std::string_view finalizer) {
  ObjectMeta meta = object.metadata;
  if (!AddFinalizer(meta, finalizer)) return {};
  FLYBALL_TRY(WriteFinalizers(client, object, meta.finalizers));
  return {};
}
template <ApiObject T>
Status DropFinalizer(const Client& client, const T& object, std::string_view finalizer) {
  ObjectMeta meta = object.metadata;
  if (!RemoveFinalizer(meta, finalizer)) return {};
  const auto written = WriteFinalizers(client, object, meta.finalizers);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

// Conditions: any struct with type, status, reason, message and last_transition_time (meta's Condition, and
// those of Deployments, Jobs, ...).

template <typename C>
const C* FindCondition(const std::vector<C>& conditions, std::string_view type) {
  for (const C& condition : conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}
template <typename C>
bool IsConditionTrue(const std::vector<C>& conditions, std::string_view type) {
  const C* condition = FindCondition(conditions, type);
  return condition && condition->status == "True";
}

// Adds the condition, or replaces the one of its type. Sets last_transition_time to now if the status
// changed, and keeps it otherwise. Returns true if anything other than times changed (upstream:
// meta.SetStatusCondition).
template <typename C>
bool SetCondition(std::vector<C>& conditions, C condition, api::Time now) {
  for (C& known : conditions) {
    if (known.type != condition.type) continue;
    const bool same_status = known.status == condition.status;
    const bool same = same_status && known.reason == condition.reason && known.message == condition.message;
    condition.last_transition_time = same_status ? known.last_transition_time : now;
    bool generation_changed = false;
    if constexpr (requires { known.observed_generation; })
      generation_changed = known.observed_generation != condition.observed_generation;
    known = std::move(condition);
    return !same || generation_changed;
  }
  condition.last_transition_time = now;
  conditions.push_back(std::move(condition));
  return true;
}
template <typename C>
bool RemoveCondition(std::vector<C>& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const C& c) { return c.type == type; }) > 0;
}

}  // namespace flyball
