#include <algorithm>
#include <utility>

#include "api/apply/managed_fields.h"
#include "api/apply/object_fields.h"
#include "api/values/time.h"

namespace flyball::api {
namespace {

using json::Value;

const Value kNull;

const Value& ManagedFieldsOf(const Value& object) {
  return object["metadata"]["managedFields"];
}

void SetManagedFields(Value& object, Value managed_fields) {
  if (!managed_fields.is_null()) {
    object["metadata"]["managedFields"] = std::move(managed_fields);
  } else if (Value* metadata = object.Find("metadata"); metadata != nullptr && metadata->is_object()) {
    metadata->as_object().Erase("managedFields");
  }
}

// [] and [{}]: the client's way to say "forget who owns what".
bool IsReset(const Value& managed_fields) {
  if (!managed_fields.is_array()) return false;
  return managed_fields.empty() || (managed_fields.size() == 1 && managed_fields.as_array()[0].is_object() &&
                                    managed_fields.as_array()[0].empty());
}

Value TakeManagedFields(Value& object) {
  Value* metadata = object.Find("metadata");
  Value* managed = metadata != nullptr ? metadata->Find("managedFields") : nullptr;
  return managed != nullptr ? std::exchange(*managed, Value()) : Value();
}

// The owners before this write: those the request gives if it may and they are well-formed, else those
// stored.
ManagedFields OwnersBefore(const Value& stored, Value given, bool subresource) {
  if (given == stored) return ManagedFields::Stored(std::move(given));
  if (!subresource && !given.is_null()) {
    if (IsReset(given)) return {};
    if (auto owners = ManagedFields::Decode(given); owners && !owners->empty()) return std::move(*owners);
  }
  return ManagedFields::Stored(stored);
}

Comparison WithoutReset(Comparison changes, const FieldSet* reset) {
  if (reset == nullptr || reset->empty()) return changes;
  return {changes.added.RecursiveDifference(*reset), changes.modified.RecursiveDifference(*reset),
          changes.removed.RecursiveDifference(*reset)};
}

// What the owner loses: all that changed, in the version it knows.
FieldSet LostBy(const ManagedEntry& owner, const FieldWriter& writer, const FieldSet& lost_here) {
  for (const auto& [version, changes] : writer.other_versions) {
    if (version != owner.api_version || version == writer.api_version) continue;
    const Comparison there = WithoutReset(changes, writer.reset);
    return there.modified.Union(there.added).Union(there.removed);
  }
  return lost_here;
}

// Gives the changed fields to the writer, takes them from everyone else, and takes what is gone from all.
void TakeChanges(const Comparison& changes, const FieldWriter& writer, ManagedFields& owners) {
  const FieldSet taken = changes.modified.Union(changes.added);
  const FieldSet lost = taken.Union(changes.removed);
  const ManagedEntry me{.manager = std::string(writer.manager.empty() ? "unknown" : writer.manager),
                        .operation = ManagedEntry::Operation::kUpdate,
                        .api_version = std::string(writer.api_version),
                        .subresource = std::string(writer.subresource),
                        .time = FormatTime(writer.now)};
  if (!taken.empty() && owners.Find(me) == nullptr) owners.entries().push_back(me);
  const ManagedEntry* mine = taken.empty() ? nullptr : owners.Find(me);
  for (ManagedEntry& entry : owners.entries()) {
    entry.fields.Remove(&entry == mine ? changes.removed : LostBy(entry, writer, lost));
    if (&entry != mine) continue;
    entry.fields.Add(taken);
    entry.time = me.time;
  }
  owners.DropEmpty();
  owners.CapUpdaters();
}

bool EqualButForTimes(Value a, Value b) {
  for (Value* list : {&a, &b}) {
    for (Value& entry : list->as_array()) {
      if (entry.is_object()) entry.as_object().Erase("time");
    }
  }
  return a == b;
}

Value WithoutManagedFields(const Value& object) {
  Value out = object;
  SetManagedFields(out, Value());
  return out;
}

}  // namespace

void UpdateManagedFields(const TypeInfo& type, const Value* live, Value& object, const FieldWriter& writer) {
  const Value& stored = live != nullptr ? ManagedFieldsOf(*live) : kNull;
  ManagedFields owners = OwnersBefore(stored, TakeManagedFields(object), !writer.subresource.empty());
  if (owners.empty() && live != nullptr) return SetManagedFields(object, Value());  // not tracked: stays so
  const Comparison changes =
      WithoutReset(CompareObjects(type, live != nullptr ? *live : kNull, object), writer.reset);
  if (!changes.empty()) TakeChanges(changes, writer, owners);
  SetManagedFields(object, std::move(owners).Encode());
}

void KeepTimesIfUnchanged(const Value& live, Value& object) {
  const Value& before = ManagedFieldsOf(live);
  const Value& after = ManagedFieldsOf(object);
  if (!before.is_array() || !after.is_array() || before.size() != after.size() || before == after) return;
  if (!EqualButForTimes(before, after)) return;
  if (WithoutManagedFields(live) == WithoutManagedFields(object)) SetManagedFields(object, before);
}

}  // namespace flyball::api
