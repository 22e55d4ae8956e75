#include "api/schema/decode_repeated.h"

#include <utility>
#include <vector>

#include "json/parse_repeated.h"

namespace flyball::api {
namespace {

using json::Value;

void EraseRepeated(json::Object& object) {
  object.EraseIf([](std::string_view key, const Value&) { return json::IsRepeated(key); });
}

// Without a type the last member wins. Input may be nested deeply, so this does not recurse.
void KeepLast(Value& root) {
  std::vector<Value*> left{&root};
  while (!left.empty()) {
    Value& value = *left.back();
    left.pop_back();
    if (value.is_array()) {
      for (Value& element : value.as_array()) left.push_back(&element);
    } else if (value.is_object()) {
      json::Object& object = value.as_object();
      for (auto& [key, member] : object)
        if (json::IsRepeated(key)) *object.Find(json::UnmarkedKey(key)) = std::move(member);
      EraseRepeated(object);
      for (auto& [key, member] : object) left.push_back(&member);
    }
  }
}

// Whether null empties what was there: Go leaves a value that is no pointer, map or slice as it is.
bool NullEmpties(const TypeInfo& type, bool pointer) {
  switch (type.kind) {
    case TypeKind::kString:
    case TypeKind::kBool:
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
    case TypeKind::kObject:
      return pointer;
    default:
      return true;
  }
}

void DecodeOver(const TypeInfo& type, bool pointer, Value& earlier, Value later);

void AddMember(const TypeInfo& type, json::Object& earlier, std::string_view key, Value later) {
  const FieldInfo* field = type.FindField(key);
  Value* before = earlier.Find(key);
  if (field == nullptr || before == nullptr)
    earlier.Set(key, std::move(later));
  else
    DecodeOver(*field->type, field->pointer, *before, std::move(later));
}

void AddElements(const TypeInfo& element, json::Array& earlier, json::Array later) {
  for (std::size_t i = 0; i < later.size() && i < earlier.size(); ++i) {
    DecodeOver(element, false, earlier[i], std::move(later[i]));
    later[i] = std::move(earlier[i]);
  }
  earlier = std::move(later);
}

// `earlier` as it is once `later` has been decoded into it. Neither has repeated members.
void DecodeOver(const TypeInfo& type, bool pointer, Value& earlier, Value later) {
  if (later.is_null()) {
    if (NullEmpties(type, pointer)) earlier = nullptr;
  } else if (type.kind == TypeKind::kObject && earlier.is_object() && later.is_object()) {
    for (auto& [key, member] : later.as_object())
      AddMember(type, earlier.as_object(), key, std::move(member));
  } else if (type.kind == TypeKind::kMap && earlier.is_object() && later.is_object()) {
    for (auto& [key, member] : later.as_object()) earlier.as_object().Set(key, std::move(member));
  } else if (type.kind == TypeKind::kList && earlier.is_array() && later.is_array()) {
    AddElements(*type.element, earlier.as_array(), std::move(later.as_array()));
  } else {
    earlier = std::move(later);
  }
}

void JoinRepeated(const TypeInfo& type, Value& value);

void JoinRepeatedMembers(const TypeInfo& type, json::Object& object) {
  for (auto& [key, member] : object) {
    const FieldInfo* field = type.FindField(json::UnmarkedKey(key));
    if (field != nullptr) JoinRepeated(*field->type, member);
  }
  for (auto& [key, member] : object)
    if (json::IsRepeated(key)) AddMember(type, object, json::UnmarkedKey(key), std::move(member));
  EraseRepeated(object);
}

// Joins repeated members everywhere in a value that Decode has found to be of the type.
void JoinRepeated(const TypeInfo& type, Value& value) {
  if (type.kind == TypeKind::kObject && type.schema == nullptr && value.is_object()) {
    JoinRepeatedMembers(type, value.as_object());
  } else if (type.kind == TypeKind::kList && value.is_array()) {
    for (Value& element : value.as_array()) JoinRepeated(*type.element, element);
  } else if (type.kind == TypeKind::kMap && value.is_object()) {
    for (auto& [key, member] : value.as_object()) JoinRepeated(*type.element, member);
    KeepLast(value);
  } else {
    KeepLast(value);
  }
}

}  // namespace

Status DecodeRepeated(const TypeInfo& type, Value& object, DecodeContext& context) {
  Value as_written = object;
  FLYBALL_TRY(Decode(type, as_written, context));
  JoinRepeated(type, object);
  DecodeContext reported;
  return Decode(type, object, reported);
}

}  // namespace flyball::api
