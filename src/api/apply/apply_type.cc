#include "api/apply/apply_type.h"

#include <algorithm>
#include <array>

#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {
namespace {

// A custom resource's type has no Go struct behind it: what is absent is absent.
bool IsBuiltin(const TypeInfo& type) {
  return type.schema == nullptr;
}

const json::Value& ZeroOf(TypeKind kind) {
  static const json::Value null, text(""), number(0), no(false), object{json::Object()}, quantity("0");
  switch (kind) {
    case TypeKind::kString:
      return text;
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
    case TypeKind::kIntOrString:
      return number;
    case TypeKind::kBool:
      return no;
    case TypeKind::kObject:
      return object;
    case TypeKind::kQuantity:
      return quantity;
    default:
      return null;
  }
}

// Go's omitempty leaves out what has an empty form; these have none.
bool HasNoEmptyForm(TypeKind kind) {
  switch (kind) {
    case TypeKind::kObject:
    case TypeKind::kTime:
    case TypeKind::kMicroTime:
    case TypeKind::kQuantity:
    case TypeKind::kIntOrString:
      return true;
    default:
      return false;
  }
}

// A key field that is absent: its published default, or, since OpenAPI publishes Go's zero value as the
// default of every field that is always written, that.
std::optional<json::Value> KeyDefault(const TypeInfo* item, std::string_view key) {
  const FieldInfo* field = item != nullptr ? item->FindField(key) : nullptr;
  if (field == nullptr) return std::nullopt;
  if (!field->default_json.empty() && (field->default_published || !IsBuiltin(*item))) {
    if (auto value = json::Parse(field->default_json)) return std::move(*value);
  }
  if (field->always && !field->pointer && IsBuiltin(*item)) return ZeroOf(field->type->kind);
  return std::nullopt;
}

// The key fields of an item, in place for the number of keys lists have.
class KeyFields {
 public:
  explicit KeyFields(std::size_t keys) {
    if (keys > kFew) {
      many_.resize(keys);
      many_defaults_.resize(keys);
    }
  }

  void Add(std::string_view name, const json::Value* value) { at(size_++) = {name, value}; }
  void AddDefault(std::string_view name, json::Value value) {
    json::Value& kept = many_.empty() ? few_defaults_[size_] : many_defaults_[size_];
    kept = std::move(value);
    Add(name, &kept);
  }

  bool empty() const { return size_ == 0; }
  std::span<PathElement::KeyField> Sorted() {
    const std::span<PathElement::KeyField> all(&at(0), size_);
    if (size_ > 1) std::sort(all.begin(), all.end());
    return all;
  }

 private:
  static constexpr std::size_t kFew = 4;
  PathElement::KeyField& at(std::size_t i) { return many_.empty() ? few_[i] : many_[i]; }

  std::array<PathElement::KeyField, kFew> few_;
  std::array<json::Value, kFew> few_defaults_;
  std::vector<PathElement::KeyField> many_;
  std::vector<json::Value> many_defaults_;
  std::size_t size_ = 0;
};

Result<PathElement> KeyedItem(const TypeInfo& list, const json::Value& item) {
  if (item.is_null()) return Unexpected(BadRequest("associative list with keys may not have a null element"));
  if (!item.is_object()) {
    return Unexpected(BadRequest("associative list with keys may not have non-map elements"));
  }
  KeyFields fields(list.list_keys.size());
  for (const std::string_view key : list.list_keys) {
    if (const json::Value* value = item.Find(key)) {
      fields.Add(key, value);
    } else if (auto fallback = KeyDefault(list.element, key)) {
      fields.AddDefault(key, std::move(*fallback));
    }
  }
  if (fields.empty()) {
    std::string keys;
    for (const std::string_view key : list.list_keys) keys += (keys.empty() ? "" : " ") + GoQuote(key);
    return Unexpected(BadRequest("associative list with keys has an element that omits all key fields [" +
                                 keys + "] (and doesn't have default values for any key fields)"));
  }
  return PathElement::Key(fields.Sorted());
}

Result<PathElement> SetItem(const json::Value& item) {
  if (item.is_object()) {
    return Unexpected(BadRequest("associative list without keys has an element that's a map type"));
  }
  if (item.is_array()) return Unexpected(BadRequest("not supporting: sets of lists"));
  if (item.is_null()) {
    return Unexpected(BadRequest("associative list without keys has an element that's an explicit null"));
  }
  return PathElement::Value(item);
}

}  // namespace

Grain GrainOf(const ApplyType& type, const json::Value& value) {
  if (type.atomic) return Grain::kWhole;
  const TypeKind kind = type.type != nullptr ? type.type->kind : TypeKind::kAny;
  switch (kind) {
    case TypeKind::kObject:
    case TypeKind::kMap:
    case TypeKind::kRaw:
      return Grain::kMembers;
    case TypeKind::kList:
      return type.type->list_type == ListType::kAtomic ? Grain::kWhole : Grain::kItems;
    case TypeKind::kAny:
    case TypeKind::kQuantity:
    case TypeKind::kIntOrString:
      return value.is_object() || value.is_null() ? Grain::kMembers : Grain::kWhole;
    default:
      return Grain::kWhole;
  }
}

const FieldInfo* MemberTypes::FindField(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto fields = type_->fields;
  const auto is_it = [&](std::size_t i) {
    const std::string_view known = fields[i].name;
    return known.size() == name.size() && known.back() == name.back() && known == name;
  };
  for (std::size_t i = next_; i < fields.size(); ++i) {
    if (is_it(i)) return next_ = i + 1, &fields[i];
  }
  for (std::size_t i = 0; i < std::min(next_, fields.size()); ++i) {
    if (is_it(i)) return next_ = i + 1, &fields[i];
  }
  return nullptr;
}

MemberType MemberTypes::Find(std::string_view name) {
  if (type_ == nullptr) return {};
  switch (type_->kind) {
    case TypeKind::kMap:
      return {ApplyType::Of(*type_->element)};
    case TypeKind::kObject:
      break;
    default:
      return {};
  }
  if (const FieldInfo* field = FindField(name)) return {ApplyType::Of(*field), field};
  if (type_->additional != nullptr) return {ApplyType::Of(*type_->additional)};
  // An object about which nothing is said may hold anything.
  const bool open = type_->preserve_unknown || (type_->fields.empty() && !IsBuiltin(*type_));
  return {.type = {}, .field = nullptr, .declared = open};
}

ApplyType ItemType(const ApplyType& list) {
  return ApplyType::Of(*list.type->element);
}

Result<PathElement> ItemElement(const ApplyType& list, const json::Value& item) {
  if (list.type->list_type == ListType::kMap) return KeyedItem(*list.type, item);
  return SetItem(item);
}

const json::Value* ValueWhenAbsent(const TypeInfo& owner, const FieldInfo& field) {
  static const json::Value null;
  if (!IsBuiltin(owner)) return nullptr;
  if (field.always && field.pointer) return &null;
  if (field.always || (!field.pointer && HasNoEmptyForm(field.type->kind))) return &ZeroOf(field.type->kind);
  return nullptr;
}

bool SameValue(const json::Value& a, const json::Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_int() && b.is_int() ? a.as_int() == b.as_int() : a.as_double() == b.as_double();
  }
  return a == b;
}

}  // namespace flyball::api
