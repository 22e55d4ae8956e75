#include "api/custom/crd_from_struct.h"

#include <algorithm>

#include "api/custom/crd_status.h"
#include "api/openapi/inline_schema.h"

namespace flyball::schema_internal {
namespace {

// "a|b" as a list.
json::Array Alternatives(std::string_view text) {
  json::Array out;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('|'));
    out.emplace_back(one);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return out;
}

void AddText(const char* keyword, const char* text, json::Value& schema) {
  if (text) schema[keyword] = text;
}
void AddNumber(const char* keyword, std::optional<std::int64_t> number, json::Value& schema) {
  if (number) schema[keyword] = static_cast<long long>(*number);
}

}  // namespace

void AddRules(const FieldRules& rules, json::Value& schema) {
  AddText("description", rules.description, schema);
  AddText("pattern", rules.pattern, schema);
  AddText("format", rules.format, schema);
  AddNumber("minimum", rules.minimum, schema);
  AddNumber("maximum", rules.maximum, schema);
  AddNumber("minLength", rules.min_length, schema);
  AddNumber("maxLength", rules.max_length, schema);
  AddNumber("minItems", rules.min_items, schema);
  AddNumber("maxItems", rules.max_items, schema);
  if (rules.default_json)
    if (auto value = json::Parse(rules.default_json)) schema["default"] = std::move(*value);
  if (rules.one_of) schema["enum"] = Alternatives(rules.one_of);
  AddText("x-kubernetes-list-type", rules.list_keys ? "map" : rules.list_type, schema);
  if (rules.list_keys) schema["x-kubernetes-list-map-keys"] = Alternatives(rules.list_keys);
  if (rules.rule) schema["x-kubernetes-validations"] = json::Array{json::Object{{"rule", rules.rule}}};
}

json::Value BuiltinSchema(std::string_view schema_name) {
  return api::StructuralSchema(*api::FindType(schema_name));
}

json::Value DefinitionMetadata(std::string_view plural, std::string_view group) {
  json::Value metadata;
  metadata["name"] = std::string(plural) + "." + std::string(group);
  if (api::IsProtectedGroup(group))
    metadata["annotations"][api::kApprovalAnnotation] = "unapproved, not part of Kubernetes";
  return metadata;
}

}  // namespace flyball::schema_internal
