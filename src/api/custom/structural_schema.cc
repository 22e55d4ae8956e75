// The rules of structural schemas (upstream: apiserver/schema) and of the JSON Schema subset that custom
// resources may use.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "api/custom/crd_validation.h"
#include "api/custom/custom_object.h"
#include "api/custom/custom_schema.h"

namespace flyball::api {

namespace {

using json::Value;

enum class Level { kRoot, kField, kItem };

constexpr std::array<std::string_view, 6> kTypes = {"array",  "boolean", "integer",
                                                    "number", "object",  "string"};

// Keywords of JSON Schema that have no place here, in the order upstream looks at them.
constexpr std::array<std::string_view, 6> kUnsupported = {"$ref",         "additionalItems",   "definitions",
                                                          "dependencies", "patternProperties", "id"};

bool IsTrue(const Value& node, std::string_view keyword) {
  return node[keyword].bool_or(false);
}

bool Preserves(const Value& node) {
  return IsTrue(node, "x-kubernetes-preserve-unknown-fields");
}

bool IsIntOrString(const Value& node) {
  return IsTrue(node, "x-kubernetes-int-or-string");
}

class StructuralValidator {
 public:
  StructuralValidator(const CustomSchema& schema, FieldErrors& errors) : schema_(schema), errors_(errors) {}

  void Visit(const Value& node, const FieldPath& path, Level level) {
    CheckKeywords(node, path);
    CheckType(node, path, level);
    CheckExtensions(node, path);
    CheckResource(node, path, level);
    CheckPattern(node, path);
    CheckDefault(node, path);
    CheckBranches(node, path);
    VisitChildren(node, path);
  }

 private:
  void CheckKeywords(const Value& node, const FieldPath& path) {
    for (const auto keyword : kUnsupported)
      if (node.Find(keyword) != nullptr && !(keyword == "id" && node[keyword].string_or("").empty()))
        errors_.Forbidden(path.Child(keyword), std::string(keyword) + " is not supported");
    if (IsTrue(node, "uniqueItems"))
      errors_.Forbidden(path.Child("uniqueItems"),
                        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (node["items"].is_array())
      errors_.Forbidden(path.Child("items"), "items must be a schema object and not an array");
    const bool open = node["additionalProperties"].is_object() || IsTrue(node, "additionalProperties");
    if (open && !node["properties"].empty())
      errors_.Forbidden(path.Child("additionalProperties"),
                        "additionalProperties and properties are mutual exclusive");
    const auto* additional = node.Find("additionalProperties");
    if (additional != nullptr && additional->is_bool() && !additional->as_bool())
      errors_.Forbidden(path.Child("additionalProperties"), "additionalProperties cannot be set to false");
  }

  void CheckType(const Value& node, const FieldPath& path, Level level) {
    const auto type = node["type"].string_or("");
    const auto here = path.Child("type");
    if (type == "null")
      return errors_.Forbidden(here, "type cannot be set to null, use nullable as an alternative");
    if (!type.empty() && std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      return errors_.NotSupported(here, type, {kTypes.begin(), kTypes.end()});
    if (level == Level::kRoot && !type.empty() && type != "object")
      return errors_.Invalid(here, type, "must be object at the root");
    if (type == "array" && !node["items"].is_object() && !node["items"].is_array())
      errors_.Required(path.Child("items"), "must be specified");
    if (!type.empty() || IsIntOrString(node) || (Preserves(node) && level != Level::kRoot)) return;
    errors_.Required(here, level == Level::kRoot   ? "must not be empty at the root"
                           : level == Level::kItem ? "must not be empty for specified array items"
                                                   : "must not be empty for specified object fields");
  }

  void CheckExtensions(const Value& node, const FieldPath& path) {
    const auto type = node["type"].string_or("");
    if (IsIntOrString(node) && !type.empty())
      errors_.Invalid(path.Child("type"), type, "must be empty if x-kubernetes-int-or-string is true");
    if (IsIntOrString(node) && Preserves(node))
      errors_.Forbidden(path.Child("x-kubernetes-preserve-unknown-fields"),
                        "must be false if x-kubernetes-int-or-string is true");
    if (const auto* preserve = node.Find("x-kubernetes-preserve-unknown-fields");
        preserve != nullptr && preserve->is_bool() && !preserve->as_bool())
      errors_.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    if (Preserves(node) && !type.empty() && type != "object")
      errors_.Invalid(path.Child("type"), type,
                      "must be object if x-kubernetes-preserve-unknown-fields is true");
    if (const auto map_type = node["x-kubernetes-map-type"].string_or(""); !map_type.empty()) {
      if (type != "object")
        errors_.Invalid(path.Child("type"), type, "must be object if x-kubernetes-map-type is specified");
      if (map_type != "atomic" && map_type != "granular")
        errors_.NotSupported(path.Child("x-kubernetes-map-type"), map_type, {"atomic", "granular"});
    }
    CheckListType(node, path);
  }

  void CheckListType(const Value& node, const FieldPath& path) {
    const auto list_type = node["x-kubernetes-list-type"].string_or("");
    const auto& keys = node["x-kubernetes-list-map-keys"];
    const auto keys_path = path.Child("x-kubernetes-list-map-keys");
    if (!list_type.empty() && node["type"].string_or("") != "array")
      errors_.Invalid(path.Child("type"), node["type"].string_or(""),
                      "must be array if x-kubernetes-list-type is specified");
    if (!list_type.empty() && list_type != "atomic" && list_type != "set" && list_type != "map")
      errors_.NotSupported(path.Child("x-kubernetes-list-type"), list_type, {"atomic", "map", "set"});
    if (list_type != "map") {
      if (!keys.empty() && list_type.empty())
        errors_.Required(path.Child("x-kubernetes-list-type"),
                         "must be map if x-kubernetes-list-map-keys is non-empty");
      else if (!keys.empty())
        errors_.Invalid(path.Child("x-kubernetes-list-type"), list_type,
                        "must be map if x-kubernetes-list-map-keys is non-empty");
      return;
    }
    if (keys.empty())
      return errors_.Required(keys_path, "must not be empty if x-kubernetes-list-type is map");
    CheckMapKeys(node, keys, path);
  }

  void CheckMapKeys(const Value& node, const Value& keys, const FieldPath& path) {
    const auto& items = node["items"];
    if (items["type"].string_or("") != "object" && items.is_object())
      errors_.Invalid(path.Child("items").Child("type"), items["type"].string_or(""),
                      "must be object if parent array's x-kubernetes-list-type is map");
    if (!keys.is_array()) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto key = keys.as_array()[i].string_or("");
      const Value* property = items["properties"].Find(key);
      const auto key_path = path.Child("x-kubernetes-list-map-keys").Index(i);
      if (property == nullptr) {
        errors_.Invalid(key_path, key, "must be a property of items");
      } else if ((*property)["type"].string_or("") == "array" ||
                 (*property)["type"].string_or("") == "object") {
        errors_.Invalid(path.Child("items").Child("properties").Key(key).Child("type"),
                        (*property)["type"].string_or(""),
                        "must be a scalar type if parent array's x-kubernetes-list-type is map");
      } else if (property->Find("default") == nullptr && !IsRequired(items, key)) {
        errors_.Required(
            path.Child("items").Child("properties").Key(key).Child("default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
            "property");
      }
    }
  }

  static bool IsRequired(const Value& node, std::string_view name) {
    const auto& required = node["required"];
    if (!required.is_array()) return false;
    return std::any_of(required.as_array().begin(), required.as_array().end(),
                       [&](const Value& v) { return v.string_or("") == name; });
  }

  void CheckResource(const Value& node, const FieldPath& path, Level level) {
    const bool embedded = IsTrue(node, "x-kubernetes-embedded-resource");
    const auto type = node["type"].string_or("");
    if (embedded && type != "object")
      errors_.Invalid(path.Child("type"), type, "must be object if x-kubernetes-embedded-resource is true");
    if (embedded && !Preserves(node) && node["properties"].empty())
      errors_.Required(path.Child("properties"),
                       "must not be empty if x-kubernetes-embedded-resource is true without "
                       "x-kubernetes-preserve-unknown-fields");
    if (!embedded && level != Level::kRoot) return;
    const auto properties = path.Child("properties");
    for (const char* name : {"apiVersion", "kind"})
      if (const auto* child = node["properties"].Find(name);
          child != nullptr && (*child)["type"].string_or("") != "string")
        errors_.Invalid(properties.Key(name).Child("type"), (*child)["type"].string_or(""), "must be string");
    if (const auto* metadata = node["properties"].Find("metadata"))
      CheckMetadata(*metadata, properties.Key("metadata"));
  }

  void CheckMetadata(const Value& metadata, const FieldPath& path) {
    if (metadata["type"].string_or("") != "object")
      errors_.Invalid(path.Child("type"), metadata["type"].string_or(""), "must be object");
    if (!metadata["properties"].is_object()) return;
    for (const auto& member : metadata["properties"].as_object()) {
      if (member.first == "name" || member.first == "generateName") continue;
      errors_.Forbidden(
          path,
          "must not specify anything other than name and generateName, but metadata is implicitly "
          "specified");
      return;
    }
  }

  void CheckPattern(const Value& node, const FieldPath& path) {
    const auto pattern = node["pattern"].string_or("");
    if (pattern.empty()) return;
    if (auto problem = PatternProblem(pattern); !problem.empty())
      errors_.Invalid(path.Child("pattern"), pattern,
                      "must be a valid regular expression, but isn't: " + problem);
  }

  void CheckDefault(const Value& node, const FieldPath& path) {
    const Value* preset = node.Find("default");
    if (preset == nullptr || preset->is_null()) return;
    ValidateAgainstSchema(schema_, node, *preset, path.Child("default"), errors_);
  }

  void CheckBranches(const Value& node, const FieldPath& path) {
    for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
      const auto& branches = node[keyword];
      if (!branches.is_array()) continue;
      for (std::size_t i = 0; i < branches.size(); ++i)
        CheckNested(branches.as_array()[i], &node, path.Child(keyword).Index(i), path);
    }
    if (node["not"].is_object()) CheckNested(node["not"], &node, path.Child("not"), path);
  }

  // A schema below allOf and its like only restricts values: it may not shape the object, and what it
  // restricts must be specified outside.
  void CheckNested(const Value& node, const Value* outside, const FieldPath& path,
                   const FieldPath& outside_path) {
    const bool int_or_string = outside != nullptr && IsIntOrString(*outside);
    if (node.Find("type") != nullptr && !int_or_string)
      errors_.Forbidden(path.Child("type"), "must be empty to be structural");
    for (const char* keyword : {"title", "description", "default"})
      if (node.Find(keyword) != nullptr)
        errors_.Forbidden(path.Child(keyword), "must be empty to be structural");
    if (node["additionalProperties"].is_object())
      errors_.Forbidden(path.Child("additionalProperties"), "must be undefined to be structural");
    for (const char* keyword : {"nullable", "x-kubernetes-preserve-unknown-fields",
                                "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"})
      if (IsTrue(node, keyword)) errors_.Forbidden(path.Child(keyword), "must be false to be structural");
    CheckPattern(node, path);
    CheckBranches(node, path);
    if (node["properties"].is_object())
      for (const auto& [name, child] : node["properties"].as_object()) {
        const Value* shape = outside != nullptr ? (*outside)["properties"].Find(name) : nullptr;
        const auto shape_path = outside_path.Child("properties").Key(name);
        const bool open =
            outside != nullptr && (Preserves(*outside) || (*outside)["additionalProperties"].is_object());
        if (shape == nullptr && !open)
          errors_.Required(shape_path,
                           "because it is defined in " + path.Child("properties").Key(name).text());
        CheckNested(child, shape, path.Child("properties").Key(name), shape_path);
      }
    if (node["items"].is_object()) {
      const Value* shape = outside != nullptr ? outside->Find("items") : nullptr;
      if (shape == nullptr)
        errors_.Required(outside_path.Child("items"),
                         "because it is defined in " + path.Child("items").text());
      CheckNested(node["items"], shape, path.Child("items"), outside_path.Child("items"));
    }
  }

  void VisitChildren(const Value& node, const FieldPath& path) {
    if (node["properties"].is_object())
      for (const auto& [name, child] : node["properties"].as_object())
        Visit(child, path.Child("properties").Key(name), Level::kField);
    if (node["additionalProperties"].is_object())
      Visit(node["additionalProperties"], path.Child("additionalProperties"), Level::kField);
    if (node["items"].is_object()) Visit(node["items"], path.Child("items"), Level::kItem);
  }

  const CustomSchema& schema_;
  FieldErrors& errors_;
};

}  // namespace

void ValidateStructuralSchema(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  // Also bounds the depth of every walk below.
  auto built = CustomSchema::Build(schema);
  if (!built) return errors.Invalid(path, "", built.error().message());
  StructuralValidator(**built, errors).Visit(schema, path, Level::kRoot);
}

}  // namespace flyball::api
