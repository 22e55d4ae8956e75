// The schema of what a typed map or object holds. Internal to this room; thread-safe.
#pragma once

#include <string_view>

#include "cel/schema/schema.h"

namespace flyball::cel::internal {

// Of the value of a key; null if expressions cannot see it.
inline const Schema* EntrySchema(const Schema& schema, std::string_view raw_key) {
  if (schema.has_properties) return schema.FindProperty(raw_key);
  return schema.additional;
}

}  // namespace flyball::cel::internal
