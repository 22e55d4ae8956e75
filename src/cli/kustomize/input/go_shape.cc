#include "cli/kustomize/input/go_shape.h"

#include <map>
#include <string>

#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cli/kustomize/resource/failure.h"

namespace flyball::cli::kustomize {
namespace {

// Where a value stands: the struct that holds it, and the way to it from the outermost one.
struct Place {
  std::string struct_name, path;
};

// "types.Image" is called Image.
std::string_view ShortName(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

Unexpected Mismatch(const json::Value& value, std::string_view type, const Place& place) {
  std::string text = "json: cannot unmarshal " + std::string(json::GoKindName(value)) + " into Go ";
  text += place.path.empty() ? "value" : "struct field " + place.struct_name + "." + place.path;
  return Fail(text + " of type " + std::string(type));
}

bool IsOfKind(const json::Value& value, GoShape::Kind kind) {
  switch (kind) {
    case GoShape::Kind::kString:
      return value.is_string();
    case GoShape::Kind::kBool:
      return value.is_bool();
    case GoShape::Kind::kInt:
      return value.is_int();
    case GoShape::Kind::kList:
      return value.is_array();
    case GoShape::Kind::kMap:
    case GoShape::Kind::kStruct:
      return value.is_object();
  }
  return false;
}

const GoField* FindField(const GoShape& shape, std::string_view name) {
  for (const GoField& field : shape.fields)
    if (field.name == name) return &field;
  for (const GoField& field : shape.fields)
    if (LowerCase(field.name) == LowerCase(name)) return &field;
  return nullptr;
}

Result<json::Value> ConformAt(const json::Value& value, const GoShape& shape, const Place& place);

Result<json::Value> ConformStruct(const json::Value& value, const GoShape& shape, const Place& place) {
  std::map<std::string_view, const json::Value*> sorted;
  for (const auto& [key, member] : value.as_object()) sorted[key] = &member;
  json::Object conforming;
  for (const auto& [key, member] : sorted) {
    const GoField* field = FindField(shape, key);
    if (field == nullptr) return Fail("json: unknown field " + api::GoQuote(key));
    Place inner{std::string(ShortName(shape.type)), place.path.empty() ? "" : place.path + "."};
    inner.path += std::string(field->embedded) + std::string(field->name);
    FLYBALL_ASSIGN(json::Value conformed, ConformAt(*member, *field->shape, inner));
    if (!conformed.is_null()) conforming.Set(field->name, std::move(conformed));
  }
  return json::Value(std::move(conforming));
}

Result<json::Value> ConformAt(const json::Value& value, const GoShape& shape, const Place& place) {
  if (value.is_null()) return json::Value();
  if (!IsOfKind(value, shape.kind)) return Mismatch(value, shape.type, place);
  if (shape.kind == GoShape::Kind::kStruct) return ConformStruct(value, shape, place);
  if (shape.kind == GoShape::Kind::kList && shape.element != nullptr) {
    json::Array list;
    for (const json::Value& item : value.as_array()) {
      FLYBALL_ASSIGN(json::Value conformed, ConformAt(item, *shape.element, place));
      list.push_back(std::move(conformed));
    }
    return json::Value(std::move(list));
  }
  if (shape.kind == GoShape::Kind::kMap) {
    json::Object map;
    for (const auto& [key, member] : value.as_object()) {
      FLYBALL_ASSIGN(json::Value conformed, ConformAt(member, *shape.element, place));
      map.Set(key, std::move(conformed));
    }
    return json::Value(std::move(map));
  }
  return value;
}

}  // namespace

Result<json::Value> Conform(const json::Value& value, const GoShape& shape) {
  return ConformAt(value, shape, {});
}

}  // namespace flyball::cli::kustomize
