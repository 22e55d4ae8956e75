// The field sets of objects: which fields a configuration names, and which fields differ between two objects.
#pragma once

#include "api/apply/field_set.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Every field the value names (upstream: TypedValue.ToFieldSet): scalars, whatever is atomic, list items,
// entries of maps, and objects that are empty. Requires a value that its type allows; what it does not is
// skipped.
FieldSet FieldsOf(const TypeInfo& type, const json::Value& value);

struct Comparison {
  FieldSet added, modified, removed;
  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};

// What changed from `before` to `after` (upstream: TypedValue.Compare). Null stands for the empty object: of
// a built-in type that is what Go writes for a new struct, so that its structs count as present already.
// Costs no memory where nothing differs.
Comparison Compare(const TypeInfo& type, const json::Value& before, const json::Value& after);

// The same for whole objects, without what nobody ever owns (upstream: stripMeta): apiVersion, kind, and in
// metadata name, namespace, uid, creationTimestamp, selfLink, clusterName, generation, managedFields,
// resourceVersion.
Comparison CompareObjects(const TypeInfo& type, const json::Value& before, const json::Value& after);
// The set of those fields.
const FieldSet& UnownedFields();

// The set with every named field that has members below it made a member too (upstream:
// EnsureNamedFieldsAreMembers): so that removing a field's last content removes the field.
FieldSet WithNamedFields(const TypeInfo& type, const FieldSet& set);

}  // namespace flyball::api
