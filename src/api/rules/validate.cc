#include "api/rules/validate.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "api/schema/zero_value.h"

namespace flyball::api {
namespace {

using json::Value;

// The built-in types that have rules somewhere below, so that everything else is never entered.
class RuledTypes {
 public:
  RuledTypes() {
    for (const TypeInfo* type : BuiltinTypes()) Collect(*type);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [type, ruled] : ruled_) {
        if (ruled || !HasRuledChild(*type)) continue;
        ruled = changed = true;
      }
    }
  }

  // Types that are not built in count as ruled.
  bool Contains(const TypeInfo& type) const {
    const auto found = ruled_.find(&type);
    return found == ruled_.end() || found->second;
  }

 private:
  void Collect(const TypeInfo& type) {
    if (!ruled_.try_emplace(&type, HasOwnRule(type)).second) return;
    for (const FieldInfo& field : type.fields) Collect(*field.type);
    if (type.element != nullptr) Collect(*type.element);
  }
  static bool HasOwnRule(const TypeInfo& type) {
    return !type.rules.empty() || std::any_of(type.fields.begin(), type.fields.end(),
                                              [](const FieldInfo& f) { return !f.rules.empty(); });
  }
  bool HasRuledChild(const TypeInfo& type) const {
    return (type.element != nullptr && ruled_.at(type.element)) ||
           std::any_of(type.fields.begin(), type.fields.end(),
                       [&](const FieldInfo& f) { return ruled_.at(f.type); });
  }

  std::unordered_map<const TypeInfo*, bool> ruled_;
};

bool IsRuled(const TypeInfo& type) {
  static const RuledTypes* const types = new RuledTypes();
  return types->Contains(type);
}

std::string Characters(std::int64_t n) {
  return std::to_string(n) + (n == 1 ? " character" : " characters");
}

std::vector<std::string> Strings(std::span<const std::string_view> values) {
  return {values.begin(), values.end()};
}

void CheckCount(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  std::size_t set = 0;
  for (const std::string_view name : rule.values) set += !value[name].is_null();
  if (set > 1)
    errors.Forbidden(
        path, "may not specify more than 1 of: " + [&] {
          std::string names;
          for (const std::string_view name : rule.values)
            names.append(names.empty() ? "" : ", ").append(name);
          return names;
        }());
  if (set == 0 && rule.kind == Rule::Kind::kOneOf)
    errors.Required(path, "must specify one of the allowed fields");
}

void CheckString(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (!value.is_string()) return;
  const std::string_view text = value.as_string();
  const auto length = static_cast<std::int64_t>(text.size());
  switch (rule.kind) {
    case Rule::Kind::kEnum:
      if (std::find(rule.values.begin(), rule.values.end(), text) == rule.values.end()) {
        errors.NotSupported(path, value, Strings(rule.values));
      }
      break;
    case Rule::Kind::kMinLength:
      if (length < rule.a) errors.Invalid(path, value, "must be at least " + Characters(rule.a));
      break;
    case Rule::Kind::kMaxLength:
      if (length > rule.a) errors.TooLong(path, static_cast<std::size_t>(rule.a));
      break;
    case Rule::Kind::kPattern:
      if (!RE2::PartialMatch(text, RE2(rule.text))) {
        errors.Invalid(path, value, "must match the regex " + std::string(rule.text));
      }
      break;
    case Rule::Kind::kFormat:
      AddProblems(FormatProblems(rule.text, text), path, value, errors);
      break;
    default:
      break;
  }
}

void CheckNumber(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (!value.is_number()) return;
  const double number = value.as_double();
  const auto bound = static_cast<double>(rule.a);
  if (rule.kind == Rule::Kind::kMin && number < bound) {
    errors.Invalid(path, value, "must be greater than or equal to " + std::to_string(rule.a));
  } else if (rule.kind == Rule::Kind::kMax && number > bound) {
    errors.Invalid(path, value, "must be less than or equal to " + std::to_string(rule.a));
  }
}

void CheckRange(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_int()) AddProblems(RangeProblems(value.as_int(), rule.a, rule.b), path, value, errors);
}

void CheckItems(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  const auto count = static_cast<std::int64_t>(value.size());
  if (rule.kind == Rule::Kind::kMaxItems && count > rule.a) {
    errors.TooMany(path, value.size(), static_cast<std::size_t>(rule.a));
  } else if (rule.kind == Rule::Kind::kMinItems && count < rule.a) {
    errors.Required(path,
                    "must have at least " + std::to_string(rule.a) + (rule.a == 1 ? " item" : " items"));
  }
}

void Check(const Rule& rule, const Value& value, const FieldPath& path, FieldErrors& errors) {
  switch (rule.kind) {
    case Rule::Kind::kRequired:
      if (IsZero(value)) errors.Required(path);
      break;
    case Rule::Kind::kEnum:
    case Rule::Kind::kMinLength:
    case Rule::Kind::kMaxLength:
    case Rule::Kind::kPattern:
    case Rule::Kind::kFormat:
      CheckString(rule, value, path, errors);
      break;
    case Rule::Kind::kMin:
    case Rule::Kind::kMax:
      CheckNumber(rule, value, path, errors);
      break;
    case Rule::Kind::kRange:
      CheckRange(rule, value, path, errors);
      break;
    case Rule::Kind::kMinItems:
    case Rule::Kind::kMaxItems:
      CheckItems(rule, value, path, errors);
      break;
    case Rule::Kind::kOneOf:
    case Rule::Kind::kAtMostOneOf:
      CheckCount(rule, value, path, errors);
      break;
    case Rule::Kind::kImmutable:
      break;
  }
}

// Rules on a value that is not there: only that it must be, or that zero is out of range.
void CheckField(const FieldInfo& field, const Value* value, const FieldPath& path, FieldErrors& errors) {
  bool required = false;
  for (const Rule& rule : field.rules) {
    const bool absent = value == nullptr || (!field.pointer && IsZero(*value));
    required = required || rule.kind == Rule::Kind::kRequired;
    if (!absent) {
      Check(rule, *value, path, errors);
    } else if (rule.kind == Rule::Kind::kRequired) {
      errors.Required(path);
    } else if (rule.kind == Rule::Kind::kRange && field.always && !required) {
      CheckRange(rule, Value(0), path, errors);
    }
  }
}

bool HasImmutableRule(const FieldInfo& field) {
  return std::any_of(field.rules.begin(), field.rules.end(),
                     [](const Rule& rule) { return rule.kind == Rule::Kind::kImmutable; });
}

}  // namespace

void Validate(const TypeInfo& type, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (!IsRuled(type)) return;
  for (const Rule& rule : type.rules) Check(rule, value, path, errors);
  if (type.kind == TypeKind::kList && value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Validate(*type.element, value.as_array()[i], path.Index(i), errors);
    }
  } else if (type.kind == TypeKind::kMap && value.is_object()) {
    for (const auto& [key, element] : value.as_object())
      Validate(*type.element, element, path.Key(key), errors);
  } else if (type.kind == TypeKind::kObject && value.is_object()) {
    for (const FieldInfo& field : type.fields) {
      if (field.rules.empty() && !IsRuled(*field.type)) continue;
      const Value* member = value.Find(field.name);
      const FieldPath here = path.Child(field.name);
      CheckField(field, member, here, errors);
      if (member != nullptr) Validate(*field.type, *member, here, errors);
    }
  }
}

void ValidateImmutable(const TypeInfo& type, const Value& value, const Value& old, const FieldPath& path,
                       FieldErrors& errors) {
  if (type.kind != TypeKind::kObject || !IsRuled(type)) return;
  for (const FieldInfo& field : type.fields) {
    const Value& before = old[field.name];
    const FieldPath here = path.Child(field.name);
    if (HasImmutableRule(field) && !IsZero(before))
      ValidateUnchanged(value[field.name], before, here, errors);
    if (before.is_object()) ValidateImmutable(*field.type, value[field.name], before, here, errors);
  }
}

}  // namespace flyball::api
