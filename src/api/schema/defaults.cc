#include "api/schema/defaults.h"

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/schema/feature_gates.h"
#include "api/schema/zero_value.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

// What there is to do in values of one type, so that subtrees without defaults are never entered.
struct Plan {
  std::vector<std::pair<const FieldInfo*, Value>> defaults;
  std::vector<const FieldInfo*> children;  // fields below which there are defaults
  bool element = false;                    // of a list or map: elements have defaults
  bool empty() const { return defaults.empty() && children.empty() && !element; }
};

Value ParseDefault(const FieldInfo& field) {
  Result<Value> parsed = json::Parse(field.default_json);
  return parsed ? std::move(*parsed) : Value();
}

// The plans of all built-in types, made once.
class Plans {
 public:
  Plans() {
    for (const TypeInfo* type : BuiltinTypes()) Collect(*type);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [type, plan] : plans_) changed = Widen(*type, plan) || changed;
    }
  }

  const Plan* Find(const TypeInfo& type) const {
    const auto found = plans_.find(&type);
    return found == plans_.end() ? nullptr : &found->second;
  }

 private:
  void Collect(const TypeInfo& type) {
    const auto [it, added] = plans_.try_emplace(&type);
    if (!added) return;
    for (const FieldInfo& field : type.fields) {
      if (!field.default_json.empty()) plans_[&type].defaults.emplace_back(&field, ParseDefault(field));
      Collect(*field.type);
    }
    if (type.element != nullptr) Collect(*type.element);
  }

  bool Has(const TypeInfo* type) const { return !plans_.at(type).empty(); }

  // Adds the children that have become known to have defaults. True if there were new ones.
  bool Widen(const TypeInfo& type, Plan& plan) {
    const bool was_element = plan.element;
    const std::size_t were = plan.children.size();
    if (type.element != nullptr) plan.element = Has(type.element);
    plan.children.clear();
    for (const FieldInfo& field : type.fields) {
      if (Has(field.type)) plan.children.push_back(&field);
    }
    return plan.element != was_element || plan.children.size() != were;
  }

  std::unordered_map<const TypeInfo*, Plan> plans_;
};

const Plans& BuiltinPlans() {
  static const Plans* const plans = new Plans();
  return *plans;
}

bool IsUnset(const FieldInfo& field, const Value* value) {
  return value == nullptr || value->is_null() || (!field.pointer && IsZero(*value));
}

void Apply(const TypeInfo& type, const Plan& plan, Value& value);

void ApplyBelow(const TypeInfo& type, Value& value) {
  if (const Plan* plan = BuiltinPlans().Find(type)) return Apply(type, *plan, value);
  ApplyDefaults(type, value);
}

void ApplyToElements(const TypeInfo& element, Value& value) {
  if (value.is_array()) {
    for (Value& item : value.as_array()) ApplyBelow(element, item);
  } else if (value.is_object()) {
    for (auto& [key, item] : value.as_object()) ApplyBelow(element, item);
  }
}

void Apply(const TypeInfo& type, const Plan& plan, Value& value) {
  if (plan.element) return ApplyToElements(*type.element, value);
  if (!value.is_object() || plan.empty()) return;
  json::Object& object = value.as_object();
  for (const auto& [field, preset] : plan.defaults) {
    if (field->gate != 0 && !GateEnabled(field->gate)) continue;
    if (IsUnset(*field, object.Find(field->name))) object.Set(field->name, preset);
  }
  for (const FieldInfo* field : plan.children) {
    if (Value* child = object.Find(field->name)) ApplyBelow(*field->type, *child);
  }
}

// Types that are not built in are walked as they are.
void ApplyUnplanned(const TypeInfo& type, Value& value) {
  if (type.element != nullptr) return ApplyToElements(*type.element, value);
  if (!value.is_object()) return;
  json::Object& object = value.as_object();
  for (const FieldInfo& field : type.fields) {
    if (!field.default_json.empty() && IsUnset(field, object.Find(field.name))) {
      object.Set(field.name, ParseDefault(field));
    }
    if (Value* child = object.Find(field.name)) ApplyDefaults(*field.type, *child);
  }
}

}  // namespace

void ApplyDefaults(const TypeInfo& type, Value& value) {
  if (const Plan* plan = BuiltinPlans().Find(type)) return Apply(type, *plan, value);
  ApplyUnplanned(type, value);
}

}  // namespace flyball::api
