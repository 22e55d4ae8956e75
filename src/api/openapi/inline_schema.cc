#include "api/openapi/inline_schema.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "api/openapi/schemas.h"

namespace flyball::api {
namespace {

// What a template of objects may say about each of them; the rest is the server's.
constexpr std::array<std::string_view, 5> kTemplateMetadata = {"annotations", "finalizers", "labels", "name",
                                                               "namespace"};
// Told by OpenAPI, unknown to definitions.
bool IsForeign(std::string_view keyword) {
  return keyword == "x-kubernetes-patch-strategy" || keyword == "x-kubernetes-patch-merge-key" ||
         keyword == "x-kubernetes-unions" || keyword == "x-kubernetes-group-version-kind" ||
         keyword == "allOf" || keyword == "$ref";
}

// Documents show the zero values of Go's structs as defaults; a definition would set them.
bool IsZeroDefault(std::string_view keyword, const json::Value& value) {
  if (keyword != "default") return false;
  const bool zero_number = value.is_number() && value.as_double() == 0;
  return zero_number || (value.is_bool() && !value.bool_or(true)) ||
         ((value.is_object() || value.is_string()) && value.string_or("").empty() && value.empty());
}

json::Value Document(const TypeInfo& type) {
  SchemaSet schemas(Dialect::kV3);
  schemas.AddType(type);
  JsonText text;
  text.Object([&] { schemas.Write(text); });
  return json::Parse(text.Take()).value_or(json::Value());
}

// "io.k8s.api.core.v1.Pod" of {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}]}; empty if
// the node refers to nothing.
std::string_view Referred(const json::Value& node) {
  const json::Value& all = node["allOf"];
  const std::string_view ref =
      (all.is_array() && !all.empty() ? all.as_array()[0] : node)["$ref"].string_or("");
  return ref.substr(ref.rfind('/') + 1);
}

enum class Reader { kDefinition, kTypeChecker };

// Puts schemas in the place of references. Confined to one call.
class Inliner {
 public:
  Inliner(const json::Value& document, Reader reader) : document_(document), reader_(reader) {}

  json::Value Named(std::string_view name) {
    const bool definition = reader_ == Reader::kDefinition;
    if (IsIntOrStringName(name) && (definition || !IsQuantityName(name)))
      return json::Object{
          {"anyOf", json::Array{json::Object{{"type", "integer"}}, json::Object{{"type", "string"}}}},
          {"x-kubernetes-int-or-string", true}};
    if (std::find(path_.begin(), path_.end(), name) != path_.end())
      return definition ? Open() : json::Object{{"type", "object"}};
    path_.push_back(name);
    json::Value out = Resolve(document_[name]);
    path_.pop_back();
    if (definition && name == ObjectMetaType().name) KeepTemplateMetadata(out);
    return out;
  }

 private:
  static json::Value Open() { return json::Object{{"x-kubernetes-preserve-unknown-fields", true}}; }
  // It says nothing of what may be in it: whatever is there is to be kept.
  static bool IsOpen(const json::Value& schema) {
    if (schema["type"].is_null()) return schema["x-kubernetes-int-or-string"].is_null();
    return schema["type"].string_or("") == "object" && schema["properties"].is_null() &&
           schema["additionalProperties"].is_null();
  }
  static void KeepTemplateMetadata(json::Value& schema) {
    json::Object kept;
    for (const auto name : kTemplateMetadata) kept.Append(name, schema["properties"][name]);
    schema["properties"] = std::move(kept);
  }

  // Definitions want every key of a list's items to be there: one that may be left out counts as empty.
  static void CompleteKeys(json::Value& list) {
    json::Value& items = list["items"];
    for (const json::Value& key : std::as_const(list)["x-kubernetes-list-map-keys"].as_array()) {
      const json::Value& required = std::as_const(items)["required"];
      if (required.is_array() && std::count(required.as_array().begin(), required.as_array().end(), key) > 0)
        continue;
      json::Value& schema = items["properties"][key.string_or("")];
      if (!schema.Find("default")) schema["default"] = "";
    }
  }

  // The node's own words (a description, how apply sees it) stand beside those of what it refers to.
  json::Value Resolve(const json::Value& node) {
    const std::string_view name = Referred(node);
    json::Value out = name.empty() ? json::Value(json::Object{}) : Named(name);
    for (const auto& [keyword, value] : node.as_object())
      if (!IsForeign(keyword) && !IsZeroDefault(keyword, value)) out[keyword] = Member(keyword, value);
    if (IsOpen(out)) out["x-kubernetes-preserve-unknown-fields"] = true;
    if (out.Find("x-kubernetes-list-map-keys")) CompleteKeys(out);
    return out;
  }
  json::Value Member(std::string_view keyword, const json::Value& value) {
    if (keyword == "items" || keyword == "additionalProperties") return Resolve(value);
    if (keyword != "properties") return value;
    json::Object out;
    for (const auto& [name, property] : value.as_object()) out.Append(name, Resolve(property));
    return out;
  }

  const json::Value& document_;
  const Reader reader_;
  std::vector<std::string_view> path_;
};

}  // namespace

json::Value StructuralSchema(const TypeInfo& type) {
  const json::Value document = Document(type);
  return Inliner(document, Reader::kDefinition).Named(type.name);
}

json::Value ResolvedSchema(const TypeInfo& type) {
  const json::Value document = Document(type);
  return Inliner(document, Reader::kTypeChecker).Named(type.name);
}

}  // namespace flyball::api
