#include "cel/eval/message.h"

#include <algorithm>
#include <string>

#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

// Go's name of what a value holds (%T of its Value()).
std::string_view NativeTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "structpb.NullValue";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int64";
    case ValueKind::kUint:
      return "uint64";
    case ValueKind::kDouble:
      return "float64";
    case ValueKind::kBytes:
      return "[]uint8";
    case ValueKind::kDuration:
      return "time.Duration";
    case ValueKind::kTimestamp:
      return "time.Time";
    case ValueKind::kList:
      return "[]ref.Val";
    case ValueKind::kMap:
      return "map[ref.Val]ref.Val";
    default:
      return GoTypeName(value);
  }
}

Value WrongPatchField(Arena& arena, const MapTable& fields) {
  for (const MapTable::Entry& entry : fields) {
    const std::string_view name = entry.key.text();
    if (name == "value") continue;
    if (name != "op" && name != "path" && name != "from")
      return Value::Error(arena, "unexpected JSONPatchType field: " + std::string(name));
    if (!entry.value.Is(ValueKind::kString))
      return Value::Error(arena, "unexpected type " + std::string(NativeTypeName(entry.value)) +
                                     " for JSONPatchType '" + std::string(name) + "' field");
  }
  return {};
}

// Object{}, Object.spec{} or JSONPatch{}.
Value MakePatch(Arena& arena, std::string_view name, const MapTable& fields) {
  const bool json = name == "JSONPatch";
  if (json)
    if (const Value problem = WrongPatchField(arena, fields); problem.IsError()) return problem;
  const auto* type = arena.New<Type>(Type{TypeKind::kStruct, std::string(name), {}, false, -1, nullptr});
  return Value::Opaque(
      arena.New<PatchValue>(json ? OpaqueKind::kJsonPatch : OpaqueKind::kObject, type, &fields));
}

}  // namespace

Value MakeMessage(Arena& arena, const MessageType& type, const MapTable& fields) {
  const auto field = [&](std::string_view name) { return fields.Find(Value::String(name)); };
  const std::string_view name = type.name;
  const auto number = [&](std::string_view part) {
    const Value* value = field(part);
    return value && value->Is(ValueKind::kInt) ? value->as_int() : 0;
  };
  if (name == "google.protobuf.Any")
    return Value::Error(arena, "unsupported conversion to ref.Val: (*dynamicpb.Message)");
  if (name == "google.protobuf.Duration") {
    std::int64_t nanos = 0;
    if (__builtin_mul_overflow(number("seconds"), std::int64_t{1'000'000'000}, &nanos) ||
        __builtin_add_overflow(nanos, number("nanos"), &nanos))
      return Value::Error(arena, "integer overflow");
    return Value::Duration(nanos);
  }
  if (name == "google.protobuf.Timestamp")
    return Value::Timestamp(number("seconds"), static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                                   number("nanos"), 0, 999'999'999)));
  if (name == "google.protobuf.Struct") {
    const Value* entries = field("fields");
    return entries ? *entries : Value::Map(arena.New<MapTable>(arena));
  }
  if (name == "google.protobuf.ListValue") {
    const Value* values = field("values");
    return values ? *values : Value::List(nullptr, 0);
  }
  if (name == "google.protobuf.Value") return fields.size() ? fields.begin()->value : Value();
  if (!type.is_wrapper) return MakePatch(arena, name, fields);
  if (const Value* value = field("value")) return *value;
  switch (type.kind) {
    case TypeKind::kBool:
      return Value::Bool(false);
    case TypeKind::kDouble:
      return Value::Double(0);
    case TypeKind::kInt:
      return Value::Int(0);
    case TypeKind::kUint:
      return Value::Uint(0);
    case TypeKind::kBytes:
      return Value::Bytes({});
    default:
      return Value::String({});
  }
}

}  // namespace flyball::cel
