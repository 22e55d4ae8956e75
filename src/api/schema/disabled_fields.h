// Fields behind feature gates that are off: dropped from what clients write, unless the object has them
// already (upstream: dropDisabledFields of the registry strategies).
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// Removes from `object` every field whose gate is off and which is nowhere in `old` (null: a new object).
void DropDisabledFields(const TypeInfo& type, json::Value& object, const json::Value* old);

}  // namespace flyball::api
