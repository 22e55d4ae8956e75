#include "api/custom/open_api_schema.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "api/custom/schema_node.h"
#include "api/schema/zero_value.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::array<std::string_view, 6> kTypes = {"array",  "boolean", "integer",
                                                    "number", "object",  "string"};
// Keywords of JSON Schema that have no place here, in the order upstream looks at them.
constexpr std::array<std::string_view, 6> kUnsupported = {
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"};
constexpr std::array<std::string_view, 3> kMetaFields = {"metadata", "kind", "apiVersion"};

// Where in the object a node stands, as far as rules depend on it.
struct Place {
  bool root = false;
  bool in_meta = false;     // below metadata, kind or apiVersion of a resource
  std::string no_defaults;  // why there may be none; "": there may
};

bool IsRequired(const Value& node, std::string_view name) {
  const Value& required = node["required"];
  if (!required.is_array()) return false;
  return std::any_of(required.as_array().begin(), required.as_array().end(),
                     [&](const Value& v) { return v.string_or("") == name; });
}

class OpenApiValidator {
 public:
  explicit OpenApiValidator(FieldErrors& errors) : errors_(errors) {}

  void Visit(const Value& node, const FieldPath& path, const Place& place) {
    if (!node.is_object()) return;
    CheckKeywords(node, path, place);
    VisitChildren(node, path, place);
    VisitBranches(node, path, place);
    CheckMapType(node, path);
    CheckListType(node, path);
    CheckListItems(node, path);
  }

 private:
  void CheckKeywords(const Value& node, const FieldPath& path, const Place& place) {
    const auto type = TypeOf(node);
    if (!type.empty() && std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      errors_.NotSupported(path.Child("type"), type, {kTypes.begin(), kTypes.end()});
    if (!place.no_defaults.empty() && !node["default"].is_null())
      errors_.Forbidden(path.Child("default"), "must not be set " + place.no_defaults);
    for (const auto keyword : kUnsupported)
      if (const auto* value = node.Find(keyword);
          value != nullptr && !value->is_null() && !(keyword == "id" && IsZero(*value)))
        errors_.Forbidden(path.Child(keyword), std::string(keyword) + " is not supported");
    if (type == "null")
      errors_.Forbidden(path.Child("type"), "type cannot be set to null, use nullable as an alternative");
    if (node["items"].is_array() && node["items"].size() != 0)
      errors_.Forbidden(path.Child("items"), "items must be a schema object and not an array");
    if (place.in_meta && IsEmbeddedResource(node))
      errors_.Forbidden(path.Child("x-kubernetes-embedded-resource"),
                        "must not be used inside of resource meta");
    if (SchemaSays(node, "uniqueItems"))
      errors_.Forbidden(path.Child("uniqueItems"),
                        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }

  void VisitChildren(const Value& node, const FieldPath& path, const Place& place) {
    const Value& additional = node["additionalProperties"];
    if (!additional.is_null() && node["properties"].size() != 0 && !additional.bool_or(false))
      errors_.Forbidden(path.Child("additionalProperties"),
                        "additionalProperties and properties are mutual exclusive");
    Place below{.in_meta = place.in_meta, .no_defaults = place.no_defaults};
    if (below.in_meta) below.no_defaults = "inside additionalProperties applying to object metadata";
    Visit(additional, path.Child("additionalProperties"), below);
    if (!node["properties"].is_object()) return;
    for (const auto& [name, child] : node["properties"].as_object())
      Visit(child, path.Child("properties").Key(name), PlaceOf(name, node, place));
  }

  static Place PlaceOf(std::string_view name, const Value& parent, const Place& place) {
    Place below{.in_meta = place.in_meta, .no_defaults = place.no_defaults};
    const bool resource = place.root || IsEmbeddedResource(parent);
    if (!resource || std::find(kMetaFields.begin(), kMetaFields.end(), name) == kMetaFields.end())
      return below;
    below.in_meta = true;
    if (place.root) below.no_defaults = "in top-level " + std::string(name);
    return below;
  }

  void VisitList(const Value& list, const FieldPath& path, const Place& place) {
    if (!list.is_array()) return;
    for (std::size_t i = 0; i < list.size(); ++i) Visit(list.as_array()[i], path.Index(i), place);
  }

  void VisitMap(const Value& map, const FieldPath& path, const Place& place) {
    if (!map.is_object()) return;
    for (const auto& [name, child] : map.as_object()) Visit(child, path.Key(name), place);
  }

  void VisitBranches(const Value& node, const FieldPath& path, const Place& place) {
    const Place below{.in_meta = place.in_meta, .no_defaults = place.no_defaults};
    Visit(node["not"], path.Child("not"), below);
    for (const char* keyword : {"allOf", "oneOf", "anyOf"})
      VisitList(node[keyword], path.Child(keyword), below);
    VisitMap(node["definitions"], path.Child("definitions"), below);
    Visit(node["items"], path.Child("items"), below);
    VisitList(node["items"], path.Child("items"), below);
    VisitMap(node["dependencies"], path.Child("dependencies"), below);
  }

  // Required if the type is not said at all.
  void WrongType(const Value& node, const FieldPath& path, std::string_view detail) {
    if (TypeOf(node).empty()) return errors_.Required(path.Child("type"), detail);
    errors_.Invalid(path.Child("type"), TypeOf(node), detail);
  }

  void CheckMapType(const Value& node, const FieldPath& path) {
    if (const Value& preserve = node["x-kubernetes-preserve-unknown-fields"];
        preserve.is_bool() && !preserve.as_bool())
      errors_.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    const Value& given = node["x-kubernetes-map-type"];
    if (given.is_null()) return;
    const auto map_type = given.string_or("");
    if (TypeOf(node) != "object")
      WrongType(node, path, "must be object if x-kubernetes-map-type is specified");
    if (map_type != "atomic" && map_type != "granular")
      errors_.NotSupported(path.Child("x-kubernetes-map-type"), map_type, {"atomic", "granular"});
  }

  void CheckListType(const Value& node, const FieldPath& path) {
    const Value& given = node["x-kubernetes-list-type"];
    const auto list_type = given.string_or("");
    const auto here = path.Child("x-kubernetes-list-type");
    if (!given.is_null() && TypeOf(node) != "array") {
      WrongType(node, path, "must be array if x-kubernetes-list-type is specified");
    } else if (list_type == "set") {
      CheckSetItems(node["items"], path.Child("items"));
    }
    if (!given.is_null() && list_type != "atomic" && list_type != "set" && list_type != "map")
      errors_.NotSupported(here, list_type, {"atomic", "set", "map"});
    if (node["x-kubernetes-list-map-keys"].size() != 0 && list_type != "map") {
      constexpr std::string_view kMustBeMap = "must be map if x-kubernetes-list-map-keys is non-empty";
      given.is_null() ? errors_.Required(here, kMustBeMap) : errors_.Invalid(here, list_type, kMustBeMap);
    }
    if (list_type == "map") CheckMapList(node, path);
  }

  // What is in a set is compared as a whole.
  void CheckSetItems(const Value& items, const FieldPath& path) {
    constexpr std::string_view kMustBeAtomic =
        "must be atomic as item of a list with x-kubernetes-list-type=set";
    const Value& list_type = items["x-kubernetes-list-type"];
    if (TypeOf(items) == "array" && !list_type.is_null() && list_type.string_or("") != "atomic")
      errors_.Invalid(path.Child("x-kubernetes-list-type"), list_type, kMustBeAtomic);
    // Upstream shows the list type here too.
    if (TypeOf(items) == "object" && items["x-kubernetes-map-type"].string_or("") != "atomic")
      errors_.Invalid(path.Child("x-kubernetes-map-type"), list_type, kMustBeAtomic);
  }

  void CheckMapList(const Value& node, const FieldPath& path) {
    const Value& keys = node["x-kubernetes-list-map-keys"];
    const Value& items = node["items"];
    const auto keys_path = path.Child("x-kubernetes-list-map-keys");
    if (keys.size() == 0) errors_.Required(keys_path, "must not be empty if x-kubernetes-list-type is map");
    if (items.is_null())
      errors_.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map");
    if (!items.is_object()) return;
    if (TypeOf(items) != "object")
      return errors_.Invalid(path.Child("items").Child("type"), TypeOf(items),
                             "must be object if parent array's x-kubernetes-list-type is map");
    std::set<std::string_view> seen;
    for (std::size_t i = 0; keys.is_array() && i < keys.size(); ++i) {
      const auto key = keys.as_array()[i].string_or("");
      CheckMapKey(items, key, keys, path);
      if (!seen.insert(key).second) errors_.Invalid(keys_path, keys, "must not contain duplicate entries");
    }
  }

  void CheckMapKey(const Value& items, std::string_view key, const Value& keys, const FieldPath& path) {
    const Value* property = items["properties"].Find(key);
    if (property == nullptr)
      return errors_.Invalid(path.Child("x-kubernetes-list-map-keys"), keys,
                             "entries must all be names of item properties");
    // Upstream shows the type of the items.
    if (TypeOf(*property) == "array" || TypeOf(*property) == "object")
      errors_.Invalid(path.Child("items").Child("properties").Key(key).Child("type"), TypeOf(items),
                      "must be a scalar type if parent array's x-kubernetes-list-type is map");
  }

  // Items that are told apart may not be null, and must have what tells them apart.
  void CheckListItems(const Value& node, const FieldPath& path) {
    const auto list_type = node["x-kubernetes-list-type"].string_or("");
    const Value& items = node["items"];
    if (!items.is_object() || (list_type != "set" && list_type != "map")) return;
    if (SchemaSays(items, "nullable"))
      errors_.Forbidden(path.Child("items").Child("nullable"),
                        "cannot be nullable when x-kubernetes-list-type is " + std::string(list_type));
    const Value& keys = node["x-kubernetes-list-map-keys"];
    if (list_type != "map" || !keys.is_array()) return;
    for (const Value& entry : keys.as_array()) {
      const auto key = entry.string_or("");
      const Value* property = items["properties"].Find(key);
      if (property == nullptr) continue;
      const auto here = path.Child("items").Child("properties").Key(key);
      if (!IsRequired(items, key) && (*property)["default"].is_null())
        errors_.Required(here.Child("default"),
                         "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                         "required property");
      if (SchemaSays(*property, "nullable"))
        errors_.Forbidden(here.Child("nullable"),
                          "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  FieldErrors& errors_;
};

}  // namespace

void ValidateOpenApiSchema(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  OpenApiValidator(errors).Visit(schema, path, Place{.root = true});
}

}  // namespace flyball::api
