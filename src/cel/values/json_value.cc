#include <optional>
#include <string>

#include "cel/formats/named_format.h"
#include "cel/schema/schema.h"
#include "cel/text/base64.h"
#include "cel/text/time.h"
#include "cel/values/entry_schema.h"
#include "cel/values/value.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNullForType{"invalid data, got null for schema with nullable=false"};
constexpr ErrorText kNotIntOrString{
    "invalid data, expected XIntOrString value to be either a string or integer"};
constexpr ErrorText kNotAMap{"invalid data, expected a map for the provided schema with type=object"};
constexpr ErrorText kNotAnArray{"invalid data, expected an array for the provided schema with type=array"};
constexpr ErrorText kNoItems{"invalid array type, expected Items with a non-empty Schema"};

std::string_view GoJsonType(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kNull:
      return "<nil>";
    case json::Value::Kind::kBool:
      return "bool";
    case json::Value::Kind::kInt:
      return "int64";
    case json::Value::Kind::kDouble:
      return "float64";
    case json::Value::Kind::kString:
      return "string";
    case json::Value::Kind::kArray:
      return "[]interface {}";
    case json::Value::Kind::kObject:
      return "map[string]interface {}";
  }
  return "";
}

Value WrongJson(Arena& arena, std::string_view wanted, const json::Value& value) {
  return Value::Error(
      arena, "invalid data, expected " + std::string(wanted) + ", got " + std::string(GoJsonType(value)));
}

Value PlainJson(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kNull:
      return {};
    case json::Value::Kind::kBool:
      return Value::Bool(value.as_bool());
    case json::Value::Kind::kInt:
      return Value::Int(value.as_int());
    case json::Value::Kind::kDouble:
      return Value::Double(value.as_double());
    case json::Value::Kind::kString:
      return Value::String(value.as_string());
    case json::Value::Kind::kArray:
      return Value::JsonList(value.as_array(), nullptr);
    case json::Value::Kind::kObject:
      return Value::JsonMap(value.as_object(), nullptr);
  }
  return {};
}

Value TypedString(Arena& arena, const json::Value& value, const Schema& schema) {
  if (!value.is_string()) return WrongJson(arena, "string", value);
  const std::string_view text = value.as_string();
  if (schema.format == SchemaFormat::kNone) return Value::String(text);
  std::string problem;
  switch (schema.format) {
    case SchemaFormat::kNone:
      return Value::String(text);
    case SchemaFormat::kDuration: {
      if (const auto nanos = ParseOpenApiDuration(text, &problem)) return Value::Duration(*nanos);
      return Value::Error(arena, "Invalid duration " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kDate: {
      if (const auto t = ParseGoTime("2006-01-02", text, &problem))
        return Value::Timestamp(t->seconds, t->nanoseconds);
      return Value::Error(arena, "Invalid date formatted string " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kDateTime: {
      if (const auto t = ParseOpenApiDateTime(text, &problem))
        return Value::Timestamp(t->seconds, t->nanoseconds, t->offset);
      return Value::Error(arena, "Invalid date-time formatted string " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kByte: {
      if (const auto bytes = DecodeBase64Url(text, &problem)) return Value::Bytes(arena.Copy(*bytes));
      return Value::Error(arena, "Invalid byte formatted string " + std::string(text) + ": " + problem);
    }
  }
  return {};
}

}  // namespace

Value Value::EscapedJson(const json::Value& value) {
  constexpr std::uint64_t kEscapedNames = 1u << 16;
  Value plain = PlainJson(value);
  if (value.is_object() || value.is_array()) plain.words_[0] |= kEscapedNames;
  return plain;
}

Value FromJson(Arena& arena, const json::Value& value, const Schema* schema) {
  if (!schema) return PlainJson(value);
  if (value.is_null()) return schema->nullable ? Value() : Value::Error(&kNullForType);
  if (schema->int_or_string) {
    if (value.is_string()) return Value::String(value.as_string());
    if (value.is_int()) return Value::Int(value.as_int());
    return Value::Error(&kNotIntOrString);
  }
  switch (schema->type) {
    case SchemaType::kObject: {
      if (!value.is_object()) return Value::Error(&kNotAMap);
      return Value::JsonMap(value.as_object(),
                            schema->embedded && schema->with_meta ? schema->with_meta : schema);
    }
    case SchemaType::kArray:
      if (!value.is_array()) return Value::Error(&kNotAnArray);
      if (!schema->items) return Value::Error(&kNoItems);
      return Value::JsonList(value.as_array(), schema);
    case SchemaType::kString:
      return TypedString(arena, value, *schema);
    case SchemaType::kNumber:
      return value.is_number() ? Value::Double(value.as_double()) : WrongJson(arena, "float", value);
    case SchemaType::kInteger:
      return value.is_int() ? Value::Int(value.as_int()) : WrongJson(arena, "int", value);
    case SchemaType::kBoolean:
      return value.is_bool() ? Value::Bool(value.as_bool()) : WrongJson(arena, "bool", value);
    case SchemaType::kNone:
    case SchemaType::kOther:
      break;
  }
  if (schema->preserves_unknown) return Value::Preserved(value);
  return Value::Error(
      arena,
      "invalid type, expected object, array, number, integer, boolean or string, or no type with "
      "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got " +
          schema->type_name);
}

bool MapFind(Arena& arena, const Value& map, std::string_view key, Value* found) {
  if (map.holding() != Holding::kJson) return MapFind(arena, map, Value::String(key), found);
  const Schema* schema = map.schema();
  if (!schema) {
    const auto name = map.has_escaped_names() ? UnescapeFieldName(key) : std::nullopt;
    const json::Value* value = map.json_map().Find(name ? std::string_view(*name) : key);
    if (value) *found = internal::FromMember(arena, map, *value, nullptr);
    return value != nullptr;
  }
  std::string unescaped;
  if (schema->has_properties && key.find("__") != std::string_view::npos) {
    auto name = UnescapeFieldName(key);
    if (!name) return false;
    unescaped = std::move(*name);
    key = unescaped;
  }
  const json::Value* value = map.json_map().Find(key);
  if (!value || (schema->has_properties && value->is_null())) return false;
  const Schema* entry = internal::EntrySchema(*schema, key);
  if (!entry) return false;
  *found = FromJson(arena, *value, entry);
  return true;
}

namespace internal {

Value FromMember(Arena& arena, const Value& container, const json::Value& value, const Schema* schema) {
  return container.has_escaped_names() ? Value::EscapedJson(value) : FromJson(arena, value, schema);
}

bool NextJsonEntry(const Value& map, std::size_t* position, EntrySource* entry) {
  const json::Object& object = map.json_map();
  const Schema* schema = map.schema();
  for (; *position < object.size(); ++*position) {
    const json::Object::Member& member = *(object.begin() + *position);
    *entry = {&member, nullptr, member.first};
    if (schema) {
      entry->schema = internal::EntrySchema(*schema, member.first);
      if (!entry->schema || (schema->has_properties && member.second.is_null())) continue;
      if (schema->has_properties)
        for (const Schema::Property& property : schema->properties)
          if (property.name == member.first && !property.escaped.empty()) entry->key = property.escaped;
    }
    ++*position;
    return true;
  }
  return false;
}

}  // namespace internal

}  // namespace flyball::cel
