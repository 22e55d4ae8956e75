#include "api/schema/zero_value.h"

#include <string>

namespace flyball::api {

using json::Value;

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
      return !value.as_bool();
    case Value::Kind::kInt:
      return value.as_int() == 0;
    case Value::Kind::kDouble:
      return value.as_double() == 0;
    case Value::Kind::kString:
      return value.as_string().empty();
    case Value::Kind::kArray:
    case Value::Kind::kObject:
      return value.size() == 0;
  }
  return false;
}

bool WritesZero(const FieldInfo& field) {
  if (field.pointer) return field.always;
  switch (field.type->kind) {
    case TypeKind::kObject:
    case TypeKind::kTime:
    case TypeKind::kMicroTime:
    case TypeKind::kDuration:
    case TypeKind::kQuantity:
    case TypeKind::kIntOrString:
    case TypeKind::kRaw:
    case TypeKind::kAny:
      return true;
    default:
      return field.always;
  }
}

bool IsOmitted(const FieldInfo& field, const Value& value) {
  if (value.is_null()) return true;
  if (field.always) return false;
  switch (field.type->kind) {
    case TypeKind::kList:
    case TypeKind::kMap:
    case TypeKind::kBytes:
      return IsZero(value) && !field.pointer;
    case TypeKind::kString:
    case TypeKind::kBool:
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
      return !field.pointer && IsZero(value);
    default:
      return false;
  }
}

Value ZeroValue(const TypeInfo& type) {
  switch (type.kind) {
    case TypeKind::kString:
      return "";
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
    case TypeKind::kIntOrString:
      return 0;
    case TypeKind::kBool:
      return false;
    case TypeKind::kQuantity:
      return "0";
    case TypeKind::kDuration:
      return "0s";
    case TypeKind::kObject:
      break;
    default:
      return nullptr;
  }
  json::Object object;
  for (const FieldInfo& field : type.fields) {
    if (WritesZero(field)) object.Append(std::string(field.name), AbsentValue(field));
  }
  return object;
}

Value AbsentValue(const FieldInfo& field) {
  return field.pointer ? Value() : ZeroValue(*field.type);
}

}  // namespace flyball::api
