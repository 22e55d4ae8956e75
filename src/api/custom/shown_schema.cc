#include "api/custom/shown_schema.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace flyball::api {

namespace {

using json::Value;
using SchemaKind = SchemaField::Kind;

constexpr SchemaField kSchemaFields[] = {
    {"id", "ID", SchemaKind::kText},
    {"$schema", "Schema", SchemaKind::kText},
    {"$ref", "Ref", SchemaKind::kPlain},
    {"description", "Description", SchemaKind::kText},
    {"type", "Type", SchemaKind::kText},
    {"nullable", "Nullable", SchemaKind::kFlag},
    {"format", "Format", SchemaKind::kText},
    {"title", "Title", SchemaKind::kText},
    {"default", "Default", SchemaKind::kPlain},
    {"maximum", "Maximum", SchemaKind::kPlain},
    {"exclusiveMaximum", "ExclusiveMaximum", SchemaKind::kFlag},
    {"minimum", "Minimum", SchemaKind::kPlain},
    {"exclusiveMinimum", "ExclusiveMinimum", SchemaKind::kFlag},
    {"maxLength", "MaxLength", SchemaKind::kPlain},
    {"minLength", "MinLength", SchemaKind::kPlain},
    {"pattern", "Pattern", SchemaKind::kText},
    {"maxItems", "MaxItems", SchemaKind::kPlain},
    {"minItems", "MinItems", SchemaKind::kPlain},
    {"uniqueItems", "UniqueItems", SchemaKind::kFlag},
    {"multipleOf", "MultipleOf", SchemaKind::kPlain},
    {"enum", "Enum", SchemaKind::kPlain},
    {"maxProperties", "MaxProperties", SchemaKind::kPlain},
    {"minProperties", "MinProperties", SchemaKind::kPlain},
    {"required", "Required", SchemaKind::kPlain},
    {"items", "Items", SchemaKind::kItems},
    {"allOf", "AllOf", SchemaKind::kSchemas},
    {"oneOf", "OneOf", SchemaKind::kSchemas},
    {"anyOf", "AnyOf", SchemaKind::kSchemas},
    {"not", "Not", SchemaKind::kSchema},
    {"properties", "Properties", SchemaKind::kSchemaMap},
    {"additionalProperties", "AdditionalProperties", SchemaKind::kOrBool},
    {"patternProperties", "PatternProperties", SchemaKind::kSchemaMap},
    {"dependencies", "Dependencies", SchemaKind::kDependencies},
    {"additionalItems", "AdditionalItems", SchemaKind::kOrBool},
    {"definitions", "Definitions", SchemaKind::kSchemaMap},
    {"externalDocs", "ExternalDocs", SchemaKind::kDocs},
    {"example", "Example", SchemaKind::kPlain},
    {"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", SchemaKind::kPlain},
    {"x-kubernetes-embedded-resource", "XEmbeddedResource", SchemaKind::kFlag},
    {"x-kubernetes-int-or-string", "XIntOrString", SchemaKind::kFlag},
    {"x-kubernetes-list-map-keys", "XListMapKeys", SchemaKind::kPlain},
    {"x-kubernetes-list-type", "XListType", SchemaKind::kPlain},
    {"x-kubernetes-map-type", "XMapType", SchemaKind::kPlain},
    {"x-kubernetes-validations", "XValidations", SchemaKind::kRules},
};

Value ShownSchemaOrNull(const Value& schema) {
  return schema.is_object() ? ShownSchema(schema) : Value();
}

Value ShownSchemas(const Value& list) {
  if (!list.is_array()) return {};
  json::Array out;
  for (const Value& schema : list.as_array()) out.push_back(ShownSchema(schema));
  return out;
}

template <typename Show>
Value ShownMembers(const Value& map, Show show) {
  if (!map.is_object()) return {};
  std::vector<std::pair<std::string_view, const Value*>> sorted;
  for (const auto& [name, member] : map.as_object()) sorted.emplace_back(name, &member);
  std::sort(sorted.begin(), sorted.end());
  json::Object out;
  for (const auto& [name, member] : sorted) out.Append(name, show(*member));
  return out;
}

Value ShownItems(const Value& items) {
  if (items.is_null()) return {};
  json::Object out;
  out.Append("Schema", ShownSchemaOrNull(items));
  out.Append("JSONSchemas", ShownSchemas(items));
  return out;
}

Value ShownOrBool(const Value& value) {
  if (value.is_null()) return {};
  json::Object out;
  out.Append("Allows", value.is_object() || value.bool_or(false));
  out.Append("Schema", ShownSchemaOrNull(value));
  return out;
}

Value ShownDependency(const Value& value) {
  json::Object out;
  out.Append("Schema", ShownSchemaOrNull(value));
  out.Append("Property", value.is_array() ? value : Value());
  return out;
}

Value ShownDocs(const Value& value) {
  if (!value.is_object()) return {};
  json::Object out;
  out.Append("Description", value["description"].string_or(""));
  out.Append("URL", value["url"].string_or(""));
  return out;
}

Value ShownRules(const Value& rules) {
  if (!rules.is_array()) return {};
  json::Array out;
  for (const Value& rule : rules.as_array()) {
    json::Object shown;
    shown.Append("Rule", rule["rule"].string_or(""));
    shown.Append("Message", rule["message"].string_or(""));
    shown.Append("MessageExpression", rule["messageExpression"].string_or(""));
    shown.Append("Reason", rule["reason"]);
    shown.Append("FieldPath", rule["fieldPath"].string_or(""));
    shown.Append("OptionalOldSelf", rule["optionalOldSelf"]);
    out.emplace_back(std::move(shown));
  }
  return out;
}

Value ShownValue(const Value& value, SchemaKind kind) {
  switch (kind) {
    case SchemaKind::kText:
      return value.string_or("");
    case SchemaKind::kFlag:
      return value.bool_or(false);
    case SchemaKind::kPlain:
      return value;
    case SchemaKind::kSchema:
      return ShownSchemaOrNull(value);
    case SchemaKind::kSchemas:
      return ShownSchemas(value);
    case SchemaKind::kSchemaMap:
      return ShownMembers(value, ShownSchema);
    case SchemaKind::kItems:
      return ShownItems(value);
    case SchemaKind::kOrBool:
      return ShownOrBool(value);
    case SchemaKind::kDependencies:
      return ShownMembers(value, ShownDependency);
    case SchemaKind::kDocs:
      return ShownDocs(value);
    case SchemaKind::kRules:
      return ShownRules(value);
  }
  return {};
}

}  // namespace

bool SchemaField::IsSet(const Value& schema) const {
  const Value& value = schema[keyword];
  if (kind == SchemaField::Kind::kText) return !value.string_or("").empty();
  if (kind == SchemaField::Kind::kFlag) return value.bool_or(false);
  return !value.is_null();
}

std::span<const SchemaField> SchemaFields() {
  return kSchemaFields;
}

Value ShownSchema(const Value& schema) {
  json::Object out;
  for (const SchemaField& field : kSchemaFields)
    out.Append(field.field, ShownValue(schema[field.keyword], field.kind));
  return out;
}

}  // namespace flyball::api
