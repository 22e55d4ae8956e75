// What apply does to values: check a configuration against its type, merge it into an object, take fields
// away (upstream: structured-merge-diff typed).
#pragma once

#include "api/apply/field_set.h"
#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// Checks that the value can be a configuration of its type: members are declared, scalars have their type,
// list items have keys that differ. The error's message lists what is wrong, upstream's way:
// `.spec.replicas: expected numeric (int or float), got string`; several under "errors:".
Status CheckConfiguration(const TypeInfo& type, const json::Value& value);

// The object with the configuration's fields in it. Lists by key or value keep both sides' items: those of
// the configuration in its order, the others near where they were. Requires a checked configuration.
json::Value MergeConfiguration(const TypeInfo& type, json::Value object, const json::Value& configuration);

// The value without the members of the set; an object or list that loses all it has by that becomes null.
json::Value WithoutFields(const TypeInfo& type, json::Value value, const FieldSet& fields);

// The same, but what becomes empty goes too, unless it is a member of `kept`: then it stays as {}.
json::Value PruneFields(const TypeInfo& type, json::Value value, const FieldSet& fields,
                        const FieldSet& kept);

}  // namespace flyball::api
