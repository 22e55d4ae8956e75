// What Type{field: value} makes: well-known messages, wrappers, and the objects of mutating policies.
// Internal to the interpreter.
#pragma once

#include <string_view>

#include "cel/types/type.h"
#include "cel/values/value.h"

namespace flyball::cel {

struct MessageType {
  std::string_view name;  // "google.protobuf.Duration", "JSONPatch"
  TypeKind kind = TypeKind::kDyn;
  bool is_wrapper = false;  // of a value of this kind
};

// An error if the message cannot hold these fields. `fields` must live as long as the arena.
Value MakeMessage(Arena& arena, const MessageType& type, const MapTable& fields);

}  // namespace flyball::cel
