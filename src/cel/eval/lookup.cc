#include "cel/eval/lookup.h"

#include <string>

#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

bool FindField(const OpaqueValue& value, const Value& key, Value* found) {
  if (!key.Is(ValueKind::kString)) return false;
  if (value.kind == OpaqueKind::kLazyFields)
    return const_cast<LazyFields&>(static_cast<const LazyFields&>(value)).Find(key.text(), found);
  if (value.kind != OpaqueKind::kObject && value.kind != OpaqueKind::kJsonPatch) return false;
  const Value* field = static_cast<const PatchValue&>(value).fields->Find(key);
  if (field) *found = *field;
  return field != nullptr;
}

// The index that a key stands for; otherwise an error.
Value ListIndex(Arena& arena, const Value& key, std::int64_t* index) {
  switch (key.kind()) {
    case ValueKind::kInt:
      *index = key.as_int();
      return {};
    case ValueKind::kUint:
      if (key.as_uint() <= static_cast<std::uint64_t>(INT64_MAX)) {
        *index = key.as_int();
        return {};
      }
      break;
    case ValueKind::kDouble: {
      const double d = key.as_double();
      if (d > -9223372036854775808.0 && d < 9223372036854775808.0 &&
          static_cast<double>(static_cast<std::int64_t>(d)) == d) {
        *index = static_cast<std::int64_t>(d);
        return {};
      }
      break;
    }
    default:
      return Value::Error(arena, "unsupported index type '" + std::string(TypeNameOf(key)) + "' in list");
  }
  return Value::Error(arena, "unsupported index value " + DisplayText(arena, key) + " in list");
}

}  // namespace

Value MissingKey(Arena& arena, const Value& key) {
  return Value::Error(arena, "no such key: " + DisplayText(arena, key));
}

Value Lookup(Arena& arena, const Value& value, const Value& key, bool may_be_absent, bool* present) {
  Value found;
  switch (value.kind()) {
    case ValueKind::kError:
      return value;
    case ValueKind::kMap:
      if (MapFind(arena, value, key, &found)) return found;
      if (value.holding() == Holding::kValues && value.map_table().otherwise())
        return *value.map_table().otherwise();
      break;
    case ValueKind::kList: {
      std::int64_t index = 0;
      if (const Value error = ListIndex(arena, key, &index); error.IsError()) return error;
      if (index >= 0 && static_cast<std::size_t>(index) < ListSize(value)) {
        if (value.schema() && !key.Is(ValueKind::kInt))
          return Value::Error(arena, "unsupported index: " + DisplayText(arena, key));
        return ListElement(arena, value, static_cast<std::size_t>(index));
      }
      *present = false;
      return may_be_absent ? Value() : Value::Error(arena, "index out of bounds: " + DisplayText(arena, key));
    }
    case ValueKind::kOpaque:
      if (FindField(*value.opaque(), key, &found)) return found;
      break;
    default:
      break;
  }
  *present = false;
  return may_be_absent ? Value() : MissingKey(arena, key);
}

}  // namespace flyball::cel
