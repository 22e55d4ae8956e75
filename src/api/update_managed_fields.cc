#include <algorithm>
#include <utility>

#include "api/managed_fields.h"
#include "api/object_fields.h"
#include "api/time.h"

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

// The owners before this write: those the request gives if it may and they are well-formed, else those
// stored.
ManagedFields OwnersBefore(const Value& stored, const Value& given, bool subresource) {
  if (!subresource && !given.is_null() && given != stored) {
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

void TakeChanges(const Comparison& changes, const FieldWriter& writer, ManagedFields& owners) {
  const FieldSet taken = changes.modified.Union(changes.added);
  owners.RemoveFromAll(changes.removed.empty() ? taken : taken.Union(changes.removed));
  if (!taken.empty()) {
    ManagedEntry entry{.manager = std::string(writer.manager.empty() ? "unknown" : writer.manager),
                       .operation = ManagedEntry::Operation::kUpdate,
                       .api_version = std::string(writer.api_version),
                       .subresource = std::string(writer.subresource),
                       .time = FormatTime(writer.now)};
    ManagedEntry* mine = owners.Find(entry);
    if (mine == nullptr) mine = &owners.entries().emplace_back(std::move(entry));
    mine->fields.Add(taken);
    mine->time = FormatTime(writer.now);
  }
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
  ManagedFields owners = OwnersBefore(stored, ManagedFieldsOf(object), !writer.subresource.empty());
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
