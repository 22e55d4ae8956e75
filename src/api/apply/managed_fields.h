// metadata.managedFields: who owns which fields of an object, and how that changes when it is written
// (upstream: apimachinery util/managedfields). Pure functions of objects: no I/O, no clock.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/apply/field_set.h"
#include "api/apply/object_fields.h"
#include "api/apply/owned_fields.h"
#include "api/schema/schema.h"
#include "base/run/clock.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// One entry of managedFields. Two entries are of one owner if manager, operation and subresource are the same
// and, for updates, apiVersion too.
struct ManagedEntry {
  enum class Operation { kApply, kUpdate };

  std::string manager;
  Operation operation = Operation::kUpdate;
  std::string api_version;
  std::string subresource;
  std::string time;  // RFC 3339; empty: none
  OwnedFields fields;

  bool IsSameOwner(const ManagedEntry& other) const;
  // `"kubectl" with subresource "status" using apps/v1`, as conflicts name an owner.
  std::string Describe() const;
};

// The owners of one object. Thread-compatible.
class ManagedFields {
 public:
  // From a managedFields list; null is an empty one. BadRequest if an entry is malformed.
  static Result<ManagedFields> Decode(const json::Value& managed_fields);
  // From a list that was checked when it was stored: malformed entries are left out.
  static ManagedFields Stored(json::Value managed_fields);
  // Sorted as upstream sorts them: operation, time, manager. Null if there are none.
  json::Value Encode() &&;

  bool empty() const { return entries_.empty(); }
  std::vector<ManagedEntry>& entries() { return entries_; }
  const std::vector<ManagedEntry>& entries() const { return entries_; }

  // The entry of the same owner; null if there is none.
  ManagedEntry* Find(const ManagedEntry& owner);
  // Adds the entry, or puts it in the place of its owner's.
  void Set(ManagedEntry entry);
  // Drops who owns nothing.
  void DropEmpty();
  // Merges the oldest updaters into "ancient-changes" until no more than kMaxUpdaters are left.
  void CapUpdaters();

  static constexpr std::size_t kMaxUpdaters = 10;

 private:
  std::vector<ManagedEntry> entries_;
};

// What a write changes, as it looks in another version of the kind, where fields have other names.
struct VersionedChanges {
  std::string api_version;
  Comparison changes;
};

// Who writes, through which door, and when.
struct FieldWriter {
  std::string_view manager;      // empty: "unknown"
  std::string_view subresource;  // "" for the main endpoint
  std::string_view api_version;  // of the request: "apps/v1"
  TimePoint now;
  // What this endpoint may not change (upstream: ResetFields): never owned through it. Null: nothing.
  const FieldSet* reset = nullptr;
  // Owners of fields in these versions lose what changes there. For those of versions that are not among
  // them, fields are called as in this one.
  std::span<const VersionedChanges> other_versions = {};
};

// Brings object's metadata.managedFields up to date for a create, update or patch that has made `object` out
// of `live` (null for a create). The writer takes the fields that changed; whoever owned them loses them;
// what is gone belongs to nobody. managedFields given in the object replace those of live, but not through a
// subresource, and not if they are malformed; `[]` and `[{}]` reset them: an object that is not tracked stays
// so until it is applied. Nothing but managedFields is changed.
void UpdateManagedFields(const TypeInfo& type, const json::Value* live, json::Value& object,
                         const FieldWriter& writer);

// If the only differences between two objects are times in managedFields, the old times are put back, so that
// a write which changes nothing writes nothing.
void KeepTimesIfUnchanged(const json::Value& live, json::Value& object);

}  // namespace flyball::api
