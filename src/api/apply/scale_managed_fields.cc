#include "api/apply/scale_managed_fields.h"

#include <string>
#include <utility>

#include "api/apply/managed_fields.h"

namespace flyball::api {
namespace {

constexpr std::string_view kScaleApiVersion = "autoscaling/v1";

FieldSet SetOf(std::span<const PathElement> path) {
  FieldSet set;
  set.Insert(path);
  return set;
}

const FieldSet& ReplicasInScale() {
  static const FieldSet set{{"spec", "replicas"}};
  return set;
}

}  // namespace

Result<json::Value> ScaleManagedFields(const json::Value& parent_managed_fields,
                                       std::span<const PathElement> replicas) {
  FLYBALL_ASSIGN(ManagedFields parent, ManagedFields::Decode(parent_managed_fields));
  ManagedFields scale;
  for (ManagedEntry& entry : parent.entries()) {
    if (!entry.fields.set().Has(replicas)) continue;
    entry.api_version = kScaleApiVersion;
    entry.fields = ReplicasInScale();
    scale.entries().push_back(std::move(entry));
  }
  return std::move(scale).Encode();
}

Result<json::Value> MergeScaleManagedFields(const json::Value& parent_managed_fields,
                                            const json::Value& scale_managed_fields,
                                            std::string_view parent_api_version,
                                            std::span<const PathElement> replicas) {
  FLYBALL_ASSIGN(ManagedFields parent, ManagedFields::Decode(parent_managed_fields));
  FLYBALL_ASSIGN(ManagedFields scale, ManagedFields::Decode(scale_managed_fields));
  const FieldSet path = SetOf(replicas);
  for (ManagedEntry& entry : parent.entries()) {
    if (!entry.fields.set().Has(replicas)) continue;
    // An updater's identity has its version in it, so one of the parent is never one of the Scale: its
    // replicas go to the Scale's entry.
    if (const ManagedEntry* same = scale.Find(entry)) {
      scale.entries().erase(scale.entries().begin() + (same - scale.entries().data()));
    } else {
      entry.fields.Remove(path);
    }
  }
  parent.DropEmpty();
  for (ManagedEntry& entry : scale.entries()) {
    if (!entry.fields.Intersects(ReplicasInScale())) continue;
    entry.api_version = parent_api_version;
    entry.time.clear();
    entry.fields = path;
    parent.entries().push_back(std::move(entry));
  }
  return std::move(parent).Encode();
}

}  // namespace flyball::api
