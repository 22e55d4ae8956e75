#include "api/schema/disabled_fields.h"

#include <algorithm>
#include <vector>

#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using UsedFields = std::vector<const FieldInfo*>;

bool IsDisabled(const FieldInfo& field) {
  return field.gate != 0 && !GateEnabled(field.gate);
}

// Calls `visit(field, owner object, key)` for each disabled field that is there, the outermost first; it says
// whether the field stays, so that what is in it is looked at too.
template <typename ValueType, typename Visit>
void VisitDisabled(const TypeInfo& type, ValueType& value, const Visit& visit) {
  if (type.kind == TypeKind::kList && value.is_array()) {
    for (auto& item : value.as_array()) VisitDisabled(*type.element, item, visit);
  } else if (type.kind == TypeKind::kMap && value.is_object()) {
    for (auto& [key, item] : value.as_object()) VisitDisabled(*type.element, item, visit);
  } else if (type.kind == TypeKind::kObject && type.schema == nullptr && value.is_object()) {
    for (const FieldInfo& field : type.fields) {
      auto* member = value.Find(field.name);
      if (member == nullptr || (IsDisabled(field) && !visit(field, value))) continue;
      VisitDisabled(*field.type, *member, visit);
    }
  }
}

// A container's lifecycle that only held what was dropped goes too; elsewhere an empty object has a meaning.
void DropEmptyLifecycles(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.as_array()) DropEmptyLifecycles(item);
  } else if (value.is_object()) {
    const json::Value* lifecycle = value.Find("lifecycle");
    if (lifecycle != nullptr && lifecycle->is_object() && lifecycle->as_object().empty() &&
        value.Find("image") != nullptr)
      value.as_object().Erase("lifecycle");
    for (auto& [key, item] : value.as_object()) DropEmptyLifecycles(item);
  }
}

}  // namespace

void DropDisabledFields(const TypeInfo& type, json::Value& object, const json::Value* old) {
  UsedFields used;
  if (old != nullptr)
    VisitDisabled(type, *old, [&](const FieldInfo& field, const json::Value&) {
      used.push_back(&field);
      return true;
    });
  VisitDisabled(type, object, [&](const FieldInfo& field, json::Value& owner) {
    if (std::find(used.begin(), used.end(), &field) != used.end()) return true;
    owner.as_object().Erase(field.name);
    return false;
  });
  DropEmptyLifecycles(object);
}

}  // namespace flyball::api
