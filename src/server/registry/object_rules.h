// The rules about metadata and status that hold for every kind (upstream: registry/rest create.go, update.go,
// delete.go). Pure functions on objects.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/run/random.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/registry/registry.h"

namespace flyball::server {

// Clears what the server decides in a new object, and fills in the namespace. BadRequest if it names another
// one.
Status PrepareForCreate(const RequestScope& scope, const ServedResource& resource, json::Value& object);
// Fills in the rest, after admission has changed the object (upstream: rest.BeforeCreate): name from
// generateName, uid, creationTimestamp, generation; clears the status.
void FillSystemFields(const RequestScope& scope, const ServedResource& resource, Random& random,
                      json::Value& object);
// The kind's own part of it, after admission has had its say (upstream: PrepareForCreate of the strategies).
void PrepareKindForCreate(const RequestScope& scope, const ServedResource& resource, json::Value& object);

// Carries over from `old` what this endpoint may not change and bumps the generation.
void PrepareForUpdate(const RequestScope& scope, const ServedResource& resource, std::string_view subresource,
                      const json::Value& old, json::Value& object);

// Fills in times that a client may leave out: when a device was tainted. `old` is null for a new object.
// Before validation.
void FillInTimes(const ServedResource& resource, std::string_view subresource, TimePoint now,
                 json::Value& object, const json::Value* old);

// Whether everything but metadata and, where it is an endpoint of its own, status is the same.
bool SameSpec(const ServedResource& resource, const json::Value& a, const json::Value& b);

// True if an update leaves nothing that holds a deleting object: no finalizers, no grace left.
bool ReadyToRemove(const ServedResource& resource, const json::Value& object);

// What a DELETE does to an object.
struct DeletionPlan {
  json::Value object;      // as it is to be stored, or shown if removed
  bool remove = false;     // goes at once
  bool marked = false;     // before it goes, watchers see it as ending: kinds that are deleted gracefully
  bool unchanged = false;  // was being deleted already, and this changes nothing
};
Result<DeletionPlan> PlanDeletion(const RequestScope& scope, const ServedResource& resource,
                                  const json::Value& current, const DeleteOptions& options);

// Conflict if the preconditions do not hold.
Status CheckPreconditions(const ServedResource& resource, const StoredObject& current,
                          const DeleteOptions& options);

// Owners that are named twice are named once; the uids of those that were ("u1, u2").
std::string DropRepeatedOwners(json::Value& metadata);

}  // namespace flyball::server
