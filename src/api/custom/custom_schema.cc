#include "api/custom/custom_schema.h"

#include <re2/re2.h>

#include <algorithm>

#include "cel/formats/regex.h"
#include "cel/rules/validator.h"
#include "json/json.h"

namespace flyball::api {

namespace {

using json::Value;

re2::RE2::Options QuietOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

constexpr std::string_view kStringType = "string", kObjectType = "object", kArrayType = "array";

TypeKind ScalarKind(std::string_view type) {
  if (type == kStringType) return TypeKind::kString;
  if (type == "integer") return TypeKind::kInt64;
  if (type == "number") return TypeKind::kFloat64;
  if (type == "boolean") return TypeKind::kBool;
  return TypeKind::kAny;
}

const TypeInfo& PlainStringType() {
  static constexpr TypeInfo type{.kind = TypeKind::kString};
  return type;
}

const TypeInfo& PlainAnyType() {
  static constexpr TypeInfo type{.kind = TypeKind::kAny};
  return type;
}

}  // namespace

class CustomSchema::Builder {
 public:
  explicit Builder(CustomSchema& schema) : schema_(schema) {}

  const TypeInfo* Type(const Value& node, bool root, int depth) {
    if (depth > kMaxDepth) {
      too_deep_ = true;
      return &PlainAnyType();
    }
    NoteRules(node);
    NoteBranches(node, depth);
    TypeInfo& type = schema_.types_.emplace_back();
    type.schema = &node;
    type.description = node["description"].string_or("");
    type.nullable = node["nullable"].bool_or(false);
    type.preserve_unknown = node["x-kubernetes-preserve-unknown-fields"].bool_or(false);
    type.embedded_resource = node["x-kubernetes-embedded-resource"].bool_or(false);
    const auto name = node["type"].string_or("");
    if (node["x-kubernetes-int-or-string"].bool_or(false))
      type.kind = TypeKind::kIntOrString;
    else if (root || name == kObjectType || type.embedded_resource ||
             (name.empty() && node["properties"].is_object()))
      Object(node, root, depth, type);
    else if (name == kArrayType)
      List(node, depth, type);
    else
      type.kind = ScalarKind(name);
    return &type;
  }

  bool too_deep() const { return too_deep_; }

 private:
  // What is only validated, never pruned or defaulted, may still have rules.
  void NoteNested(const Value& node, int depth) {
    if (depth > kMaxDepth) {
      too_deep_ = true;
      return;
    }
    NoteRules(node);
    NoteBranches(node, depth);
    for (const char* single : {"items", "additionalProperties"})
      if (node[single].is_object()) NoteNested(node[single], depth + 1);
    if (node["properties"].is_object())
      for (const auto& member : node["properties"].as_object()) NoteNested(member.second, depth + 1);
  }

  void NoteBranches(const Value& node, int depth) {
    for (const char* list : {"allOf", "anyOf", "oneOf"})
      if (node[list].is_array())
        for (const auto& branch : node[list].as_array()) NoteNested(branch, depth + 1);
    if (node["not"].is_object()) NoteNested(node["not"], depth + 1);
  }

  void NoteRules(const Value& node) {
    if (!node["x-kubernetes-validations"].empty()) schema_.uses_cel_ = true;
  }

  void Object(const Value& node, bool root, int depth, TypeInfo& type) {
    type.kind = TypeKind::kObject;
    type.atomic = node["x-kubernetes-map-type"].string_or("") == "atomic";
    const auto& properties = node["properties"];
    const auto& additional = node["additionalProperties"];
    const bool has_properties = properties.is_object() && !properties.empty();
    if (additional.is_object() || additional.bool_or(false)) {
      const TypeInfo* element = additional.is_object() ? Type(additional, false, depth + 1) : &PlainAnyType();
      if (!has_properties && !root && !type.embedded_resource) {
        type.kind = TypeKind::kMap;
        type.element = element;
        return;
      }
      type.additional = element;
    }
    Fields(node, root || type.embedded_resource, depth, type);
  }

  void Fields(const Value& node, bool is_resource, int depth, TypeInfo& type) {
    auto& fields = schema_.fields_.emplace_back();
    if (const auto& properties = node["properties"]; properties.is_object()) {
      for (const auto& [name, child] : properties.as_object()) {
        if (is_resource && (name == "apiVersion" || name == "kind" || name == "metadata")) {
          NoteNested(child, depth + 1);
          continue;
        }
        fields.push_back(Field(name, child, depth));
      }
    }
    if (is_resource) {
      fields.push_back({.name = "apiVersion", .type = &PlainStringType(), .pointer = true});
      fields.push_back({.name = "kind", .type = &PlainStringType(), .pointer = true});
      fields.push_back({.name = "metadata", .type = &ObjectMetaType(), .pointer = true});
    }
    std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    type.fields = fields;
  }

  FieldInfo Field(std::string_view name, const Value& node, int depth) {
    FieldInfo field{.name = name, .type = Type(node, false, depth + 1), .pointer = true};
    field.description = field.type->description;
    if (const auto* preset = node.Find("default"); preset != nullptr && !preset->is_null()) {
      field.default_json = schema_.texts_.emplace_back(json::Write(*preset));
      field.default_published = true;
    }
    return field;
  }

  void List(const Value& node, int depth, TypeInfo& type) {
    type.kind = TypeKind::kList;
    type.element = node["items"].is_object() ? Type(node["items"], false, depth + 1) : &PlainAnyType();
    const auto list_type = node["x-kubernetes-list-type"].string_or("");
    type.list_type_declared = !list_type.empty();
    if (list_type == "set") type.list_type = ListType::kSet;
    if (list_type != "map") return;
    type.list_type = ListType::kMap;
    auto& keys = schema_.lists_.emplace_back();
    if (const auto& given = node["x-kubernetes-list-map-keys"]; given.is_array())
      for (const auto& key : given.as_array()) keys.push_back(key.string_or(""));
    type.list_keys = keys;
  }

  CustomSchema& schema_;
  bool too_deep_ = false;
};

CustomSchema::CustomSchema() = default;
CustomSchema::~CustomSchema() = default;

Result<std::shared_ptr<const CustomSchema>> CustomSchema::Build(const Value& open_api_schema) {
  std::shared_ptr<CustomSchema> schema(new CustomSchema);
  if (open_api_schema.is_object()) {
    schema->schema_ = open_api_schema;
  } else {
    schema->schema_["type"] = kObjectType;
    schema->schema_["x-kubernetes-preserve-unknown-fields"] = true;
  }
  Builder builder(*schema);
  schema->root_ = builder.Type(schema->schema_, true, 0);
  if (builder.too_deep())
    return Unexpected(BadRequest("schema is nested more than " + std::to_string(kMaxDepth) + " levels deep"));
  return std::shared_ptr<const CustomSchema>(std::move(schema));
}

const re2::RE2* CustomSchema::Pattern(std::string_view pattern) const {
  MutexLock lock(patterns_mu_);
  auto& compiled = patterns_[std::string(pattern)];
  if (compiled == nullptr) compiled = std::make_unique<re2::RE2>(cel::Re2Pattern(pattern), QuietOptions());
  return compiled->ok() ? compiled.get() : nullptr;
}

std::string PatternProblem(std::string_view pattern) {
  std::string problem;
  cel::Regex::Compile(pattern, &problem);
  return problem;
}

const cel::Validator* CustomSchema::rules() const {
  std::call_once(rules_once_, [this] {
    if (uses_cel_) rules_ = cel::Validator::Build(schema_);
  });
  return rules_.get();
}

}  // namespace flyball::api
