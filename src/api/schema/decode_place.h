// DecodePlace: where a walk over an object is, as links on the stack; made into text only when something is
// reported. Internal to decoding and pruning.
#pragma once

#include <string>
#include <string_view>

#include "api/schema/schema.h"

namespace flyball::api {

struct DecodePlace {
  const DecodePlace* up = nullptr;
  const TypeInfo* owner = nullptr;   // of the field; null for elements
  const FieldInfo* field = nullptr;  // null for elements
  std::string_view key = {};         // of a map's element, or of a member without a field
  std::size_t index = 0;             // of a list's element
  bool is_index = false;
};

// Appends "spec.containers[0].name".
inline void AppendPath(const DecodePlace* place, std::string& out) {
  if (place == nullptr) return;
  AppendPath(place->up, out);
  if (place->is_index) {
    out += '[' + std::to_string(place->index) + ']';
    return;
  }
  if (!out.empty()) out += '.';
  out += place->field != nullptr ? place->field->name : place->key;
}

}  // namespace flyball::api
