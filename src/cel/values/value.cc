#include "cel/values/value.h"

#include <cstring>

#include "cel/schema/schema.h"
#include "cel/text/time.h"
#include "cel/values/keyed_list.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNoSuchOverload{"no such overload"};

}  // namespace

const Schema* Value::keyed_by() const {
  if (!Is(ValueKind::kList) || (holding() != Holding::kJson && holding() != Holding::kValues)) return nullptr;
  const Schema* schema = aux_schema();
  return !schema || schema->list_type == ListType::kAtomic ? nullptr : schema;
}

Value NoSuchOverload() {
  return Value::Error(&kNoSuchOverload);
}

Value Value::Concat(const Concatenation* lists) {
  return Pointer(ValueKind::kList, Holding::kConcat, lists);
}

Value Value::Some(Arena& arena, const Value& value) {
  return Pointer(ValueKind::kOptional, Holding::kValues, arena.New<Value>(value));
}

Value Value::Error(Arena& arena, std::string_view message) {
  return Error(arena.New<ErrorText>(ErrorText{arena.Copy(message)}));
}

void GrowingList::Append(const Value& value) {
  if (size == capacity) {
    const std::size_t larger = capacity ? capacity * 2 : 4;
    Value* moved = arena.NewArray<Value>(larger);
    if (size) std::memcpy(static_cast<void*>(moved), elements, size * sizeof(Value));
    elements = moved;
    capacity = larger;
  }
  elements[size++] = value;
}

std::size_t ListSize(const Value& list) {
  switch (list.holding()) {
    case Holding::kConcat:
      return list.concatenation().size;
    case Holding::kGrowing:
      return list.growing_list().size;
    default:
      return list.raw_size();
  }
}

Value ListElement(Arena& arena, const Value& list, std::size_t index) {
  const Value* at = &list;
  while (at->holding() == Holding::kConcat) {
    const Concatenation& lists = at->concatenation();
    const std::size_t first = ListSize(lists.first);
    at = index < first ? &lists.first : &lists.second;
    if (index >= first) index -= first;
  }
  switch (at->holding()) {
    case Holding::kJson:
      return internal::FromMember(arena, *at, at->json_list()[index],
                                  at->schema() ? at->schema()->items : nullptr);
    case Holding::kGrowing:
      return at->growing_list().elements[index];
    default:
      return at->elements()[index];
  }
}

std::size_t MapSize(const Value& map) {
  return map.holding() == Holding::kJson ? map.raw_size() : map.map_table().size();
}

bool MapFind(Arena& arena, const Value& map, const Value& key, Value* found) {
  if (map.holding() == Holding::kJson) {
    if (key.Is(ValueKind::kString)) return MapFind(arena, map, key.text(), found);
    if (!map.schema()) return false;
    *found = NoSuchOverload();
    return true;
  }
  const Value* value = map.map_table().Find(key);
  if (value) *found = *value;
  return value != nullptr;
}

bool IsZeroValue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kBool:
      return !value.as_bool();
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return value.as_int() == 0;
    case ValueKind::kDouble:
      return value.as_double() == 0;
    case ValueKind::kString:
    case ValueKind::kBytes:
      return value.text().empty();
    // Typed lists and maps do not say whether they are empty.
    case ValueKind::kList:
      return !value.schema() && ListSize(value) == 0;
    case ValueKind::kMap:
      return !value.schema() && MapSize(value) == 0;
    case ValueKind::kTimestamp:
      return value.as_int() == kMinTimestamp && value.nanoseconds() == 0;
    default:
      return false;
  }
}

}  // namespace flyball::cel
