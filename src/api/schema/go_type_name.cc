#include "api/schema/go_type_name.h"

#include <algorithm>
#include <utility>

namespace flyball::api {
namespace {

// Null: the tables say it all.
const GoNamedField* FindNamed(const TypeInfo& owner, const FieldInfo& field) {
  const auto rows = GoNamedFields();
  const auto it = std::lower_bound(
      rows.begin(), rows.end(), std::pair(owner.name, field.name),
      [](const GoNamedField& row, const auto& wanted) { return std::pair(row.type, row.field) < wanted; });
  return it != rows.end() && it->type == owner.name && it->field == field.name ? &*it : nullptr;
}

std::string NamedTypeName(const TypeInfo& type) {
  const std::size_t last = type.name.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::string(type.name);
  const std::size_t before = type.name.rfind('.', last - 1);
  return std::string(type.name.substr(before == std::string_view::npos ? 0 : before + 1));
}

}  // namespace

std::string GoPackageOf(std::string_view group) {
  const bool core = group.empty() || group == "events.k8s.io";
  return core ? "core" : std::string(group.substr(0, group.find('.')));
}

std::string_view ShortTypeName(const TypeInfo& type) {
  return type.name.substr(type.name.rfind('.') + 1);
}

std::string GoTypeName(const TypeInfo& type) {
  switch (type.kind) {
    case TypeKind::kString:
      return "string";
    case TypeKind::kInt32:
      return "int32";
    case TypeKind::kInt64:
      return "int64";
    case TypeKind::kFloat64:
      return "float64";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kBytes:
      return "[]uint8";
    case TypeKind::kTime:
      return "v1.Time";
    case TypeKind::kMicroTime:
      return "v1.MicroTime";
    case TypeKind::kDuration:
      return "v1.Duration";
    case TypeKind::kQuantity:
      return "resource.Quantity";
    case TypeKind::kIntOrString:
      return "intstr.IntOrString";
    case TypeKind::kList:
      return "[]" + GoTypeName(*type.element);
    case TypeKind::kMap:
      return type.element->kind == TypeKind::kQuantity ? "v1.ResourceList"
                                                       : "map[string]" + GoTypeName(*type.element);
    case TypeKind::kObject:
    case TypeKind::kRaw:
    case TypeKind::kAny:
      break;
  }
  return type.name.empty() ? "interface {}" : NamedTypeName(type);
}

std::string GoFieldTypeName(const TypeInfo& owner, const FieldInfo& field) {
  const GoNamedField* named = FindNamed(owner, field);
  return named != nullptr && !named->go_type.empty() ? std::string(named->go_type) : GoTypeName(*field.type);
}

std::string GoElementTypeName(const TypeInfo& owner, const FieldInfo& field) {
  const GoNamedField* named = FindNamed(owner, field);
  const std::string_view whole = named != nullptr ? named->go_type : std::string_view();
  if (whole.starts_with("[]")) return std::string(whole.substr(2));
  if (whole.starts_with("map[")) return std::string(whole.substr(whole.find(']') + 1));
  return field.type->element != nullptr ? GoTypeName(*field.type->element) : GoTypeName(*field.type);
}

std::string_view GoEmbeddedIn(const TypeInfo& owner, const FieldInfo& field) {
  const GoNamedField* named = FindNamed(owner, field);
  return named != nullptr ? named->embedded_in : std::string_view();
}

}  // namespace flyball::api
