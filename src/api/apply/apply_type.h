// How apply sees a value of a schema type: as one piece, member by member, or item by item (upstream:
// structured-merge-diff's schema.Atom, and its "deduced" type for parts without a schema).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apply/field_path_element.h"
#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// A type as seen from where it is used. `type` null: nothing is declared, so the value itself tells: objects
// are taken member by member, lists as one piece.
struct ApplyType {
  const TypeInfo* type = nullptr;
  bool atomic = false;

  static ApplyType Of(const TypeInfo& type) { return {&type, type.atomic}; }
  static ApplyType Of(const FieldInfo& field) { return {field.type, field.atomic || field.type->atomic}; }
};

enum class Grain : std::uint8_t {
  kWhole,    // a scalar, or something atomic: a leaf
  kMembers,  // an object or map: each member on its own
  kItems,    // a list: each item on its own, told apart by key or value
};

Grain GrainOf(const ApplyType& type, const json::Value& value);

// What an object's type says of one of its members.
struct MemberType {
  ApplyType type;
  const FieldInfo* field = nullptr;  // null: not a named field but a map's entry
  bool declared = true;              // false: the schema does not allow such a member
};

// Finds members in turn: objects mostly have them in the order of their type, which makes that a step each.
class MemberTypes {
 public:
  explicit MemberTypes(const ApplyType& type) : type_(type.type) {}
  MemberType Find(std::string_view name);

 private:
  const FieldInfo* FindField(std::string_view name);

  const TypeInfo* type_;
  std::size_t next_ = 0;
};

// The type of a list's items. Requires a kItems list type.
ApplyType ItemType(const ApplyType& list);
// What tells an item from others of its list; key fields that are absent take their default. Requires kItems.
// The error's message is upstream's.
Result<PathElement> ItemElement(const ApplyType& list, const json::Value& item);

// What Go writes for a field of a built-in type that has no value: a struct as {}, a list without omitempty
// as null, ... Null pointer if it writes nothing. The value lives for ever.
const json::Value* ValueWhenAbsent(const TypeInfo& owner, const FieldInfo& field);

// Equality of values: as JSON, but 1 and 1.0 are the same number.
bool SameValue(const json::Value& a, const json::Value& b);

}  // namespace flyball::api
