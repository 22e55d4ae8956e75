#include "api/openapi/schemas.h"

#include <algorithm>
#include <utility>

#include "json/json.h"

namespace flyball::api {

namespace {

constexpr std::string_view kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
constexpr std::string_view kIntOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
constexpr std::string_view kRawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension";
constexpr std::string_view kTime = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
constexpr std::string_view kMicroTime = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
constexpr std::string_view kDuration = "io.k8s.apimachinery.pkg.apis.meta.v1.Duration";
constexpr std::string_view kPatchSchema = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

// Scalars that are schemas of their own; empty for the others.
std::string_view WellKnownName(const TypeInfo& type) {
  switch (type.kind) {
    case TypeKind::kTime:
      return kTime;
    case TypeKind::kMicroTime:
      return kMicroTime;
    case TypeKind::kDuration:
      return kDuration;
    case TypeKind::kQuantity:
      return kQuantity;
    case TypeKind::kIntOrString:
      return kIntOrString;
    case TypeKind::kRaw:
      return type.name.empty() ? kRawExtension : std::string_view();
    default:
      return {};
  }
}

std::string_view PatchStrategyText(PatchStrategy strategy) {
  switch (strategy) {
    case PatchStrategy::kMerge:
      return "merge";
    case PatchStrategy::kReplace:
      return "replace";
    case PatchStrategy::kRetainKeys:
      return "retainKeys";
    case PatchStrategy::kMergeRetainKeys:
      return "merge,retainKeys";
    case PatchStrategy::kDefault:
      break;
  }
  return "";
}

std::string_view ListTypeText(ListType type) {
  return type == ListType::kMap ? "map" : type == ListType::kSet ? "set" : "atomic";
}

std::string ReversedGroup(std::string_view group) {
  std::string out;
  while (!group.empty()) {
    const auto dot = group.rfind('.');
    const auto part = dot == std::string_view::npos ? group : group.substr(dot + 1);
    out += (out.empty() ? "" : ".") + std::string(part);
    group = dot == std::string_view::npos ? std::string_view() : group.substr(0, dot);
  }
  return out;
}

}  // namespace

void WriteGroupVersionKind(const GroupVersionKind& gvk, JsonText& json) {
  json.Object([&] {
    json.String("group", gvk.group);
    json.String("kind", gvk.kind);
    json.String("version", gvk.version);
  });
}

std::string SchemaName(const KindInfo& kind) {
  if (!kind.custom && kind.type != nullptr) return std::string(kind.type->name);
  return ReversedGroup(kind.group) + '.' + std::string(kind.version) + '.' + std::string(kind.kind);
}

bool IsIntOrStringName(std::string_view schema_name) {
  return schema_name == kQuantity || schema_name == kIntOrString;
}

bool IsQuantityName(std::string_view schema_name) {
  return schema_name == kQuantity;
}

void SchemaSet::AddIdentity(std::string_view schema_name, GroupVersionKind gvk) {
  identities_[std::string(schema_name)].insert(std::move(gvk));
}

void SchemaSet::AddKind(const KindInfo& kind) {
  const std::string name = SchemaName(kind), list = name + "List";
  const std::string group(kind.group), version(kind.version);
  AddIdentity(name, {group, version, std::string(kind.kind)});
  if (kind.custom) {
    custom_[name] = &kind;
    AddIdentity(list, {group, version, std::string(kind.kind) + "List"});
    AddType(ObjectMetaType());
    AddType(ListMetaType());
    return;
  }
  AddType(*kind.type);
  if (const TypeInfo* list_type = FindType(list)) {
    AddIdentity(list, {group, version, std::string(kind.kind) + "List"});
    AddType(*list_type);
  }
}

void SchemaSet::AddType(const TypeInfo& type) {
  if (const auto known = WellKnownName(type); !known.empty()) {
    well_known_.insert(known);
    return;
  }
  if (!type.name.empty() && !types_.emplace(type.name, &type).second) return;
  if (type.kind == TypeKind::kObject)
    for (const FieldInfo& field : type.fields) AddType(*field.type);
  if (type.element != nullptr) AddType(*type.element);
}

void SchemaSet::Write(JsonText& json) const {
  for (const auto& [name, type] : types_) {
    json.Key(name);
    WriteType(*type, json);
  }
  for (const auto name : well_known_) {
    json.Key(name);
    WriteWellKnown(name, json);
  }
  json.Key(kPatchSchema);
  WriteWellKnown(kPatchSchema, json);
  for (const auto& [name, kind] : custom_) {
    json.Key(name);
    WriteCustom(*kind, json);
    json.Key(name + "List");
    WriteCustomList(*kind, json);
  }
}

void SchemaSet::WriteRef(std::string_view name, JsonText& json) const {
  json.String("$ref",
              (dialect_ == Dialect::kV3 ? "#/components/schemas/" : "#/definitions/") + std::string(name));
}

// A reference with something beside it: OpenAPI 3 wants it wrapped, Swagger 2 does not mind.
void SchemaSet::WriteReference(std::string_view name, JsonText& json) const {
  if (dialect_ == Dialect::kV2) return WriteRef(name, json);
  json.Array("allOf", [&] { json.Object([&] { WriteRef(name, json); }); });
}

// Nothing stands beside the reference of an element.
void SchemaSet::WriteElement(const TypeInfo& type, JsonText& json) const {
  if (const auto known = WellKnownName(type); !known.empty()) return WriteRef(known, json);
  if (!type.name.empty()) return WriteRef(type.name, json);
  WriteShape(type, json);
}

void SchemaSet::WriteShape(const TypeInfo& type, JsonText& json) const {
  if (const auto known = WellKnownName(type); !known.empty()) return WriteReference(known, json);
  if (!type.name.empty()) return WriteReference(type.name, json);
  switch (type.kind) {
    case TypeKind::kString:
      return json.String("type", "string");
    case TypeKind::kInt32:
    case TypeKind::kInt64:
      json.String("type", "integer");
      return json.String("format", type.kind == TypeKind::kInt32 ? "int32" : "int64");
    case TypeKind::kFloat64:
      json.String("type", "number");
      return json.String("format", "double");
    case TypeKind::kBool:
      return json.String("type", "boolean");
    case TypeKind::kBytes:
      json.String("type", "string");
      return json.String("format", "byte");
    case TypeKind::kMap:
      json.String("type", "object");
      return json.Object("additionalProperties", [&] { WriteElement(*type.element, json); });
    case TypeKind::kList:
      json.String("type", "array");
      return json.Object("items", [&] { WriteElement(*type.element, json); });
    case TypeKind::kObject:
      return json.String("type", "object");
    default:
      return;  // anything goes
  }
}

// What a member has that is not sent: its own default, or the zero value of one that is always there.
void SchemaSet::WriteDefault(const FieldInfo& field, JsonText& json) const {
  const TypeInfo& type = *field.type;
  if (!field.default_json.empty() && field.default_published) return json.Raw("default", field.default_json);
  if (field.pointer) return;
  if (type.kind == TypeKind::kObject && !type.name.empty()) return json.Raw("default", "{}");
  if (!field.always) return;
  switch (type.kind) {
    case TypeKind::kString:
      return json.Raw("default", "\"\"");
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
      return json.Raw("default", "0");
    case TypeKind::kBool:
      return json.Raw("default", "false");
    default:
      return;
  }
}

void SchemaSet::WriteFieldExtensions(const FieldInfo& field, JsonText& json) const {
  const TypeInfo& type = *field.type;
  for (const Rule& rule : field.rules) {
    if (rule.kind != Rule::Kind::kEnum || type.kind != TypeKind::kString) continue;
    json.Array("enum", [&] {
      for (const auto value : rule.values) json.String(value);
    });
  }
  if (dialect_ == Dialect::kV3) WriteDefault(field, json);
  if (type.kind == TypeKind::kList && type.list_type_declared)
    json.String("x-kubernetes-list-type", ListTypeText(type.list_type));
  if (!type.list_keys.empty())
    json.Array("x-kubernetes-list-map-keys", [&] {
      for (const auto key : type.list_keys) json.String(key);
    });
  const bool atomic_map = field.atomic || (type.atomic && type.kind == TypeKind::kMap);
  if (atomic_map && type.kind != TypeKind::kList) json.String("x-kubernetes-map-type", "atomic");
  if (const auto strategy = PatchStrategyText(field.patch); !strategy.empty())
    json.String("x-kubernetes-patch-strategy", strategy);
  if (!field.patch_key.empty()) json.String("x-kubernetes-patch-merge-key", field.patch_key);
}

void SchemaSet::WriteField(const FieldInfo& field, JsonText& json) const {
  json.Object(field.name, [&] {
    if (!field.description.empty()) json.String("description", field.description);
    WriteShape(*field.type, json);
    WriteFieldExtensions(field, json);
  });
}

void SchemaSet::WriteIdentities(std::string_view name, JsonText& json) const {
  const auto it = identities_.find(name);
  if (it == identities_.end()) return;
  json.Array("x-kubernetes-group-version-kind", [&] {
    for (const auto& gvk : it->second) WriteGroupVersionKind(gvk, json);
  });
}

void SchemaSet::WriteType(const TypeInfo& type, JsonText& json) const {
  json.Object([&] {
    if (!type.description.empty()) json.String("description", type.description);
    if (type.kind != TypeKind::kAny) json.String("type", "object");
    if (type.kind == TypeKind::kObject && !type.fields.empty()) {
      std::vector<const FieldInfo*> required;
      json.Object("properties", [&] {
        for (const FieldInfo& field : type.fields) {
          WriteField(field, json);
          if ((field.always && !field.optional) || field.demanded) required.push_back(&field);
        }
      });
      if (!required.empty())
        json.Array("required", [&] {
          for (const auto* field : required) json.String(field->name);
        });
    }
    if (type.atomic) json.String("x-kubernetes-map-type", "atomic");
    if (!type.union_discriminator.empty() || !type.union_fields.empty()) {
      json.Array("x-kubernetes-unions", [&] {
        json.Object([&] {
          if (!type.union_discriminator.empty()) json.String("discriminator", type.union_discriminator);
          json.Object("fields-to-discriminateBy", [&] {
            for (const auto pair : type.union_fields) {
              const auto equals = pair.find('=');
              json.String(pair.substr(0, equals),
                          equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
            }
          });
        });
      });
    }
    WriteIdentities(type.name, json);
  });
}

void SchemaSet::WriteWellKnown(std::string_view name, JsonText& json) const {
  const bool v3 = dialect_ == Dialect::kV3;
  json.Object([&] {
    if (name == kQuantity) {
      json.String("description", "An amount, exact, with an optional suffix: 100m, 0.5, 2Gi, 1e3.");
      if (v3) return json.Raw("oneOf", R"([{"type":"string"},{"type":"number"}])");
      return json.String("type", "string");
    }
    if (name == kIntOrString) {
      json.String("description", "A number or a text, such as a percentage or a name.");
      json.String("format", "int-or-string");
      if (v3) return json.Raw("oneOf", R"([{"type":"integer"},{"type":"string"}])");
      return json.String("type", "string");
    }
    if (name == kTime || name == kMicroTime) {
      json.String("description",
                  name == kTime ? "A moment, RFC 3339, in seconds." : "A moment, RFC 3339, in microseconds.");
      json.String("type", "string");
      return json.String("format", "date-time");
    }
    if (name == kDuration) {
      json.String("description", "A span of time: 1h30m, 300ms.");
      return json.String("type", "string");
    }
    json.String("description", name == kPatchSchema
                                   ? "Changes to an object, in the format its Content-Type names."
                                   : "An object of any kind, kept as it is.");
    json.String("type", "object");
  });
}

namespace {

// What the server says of these members, whatever the definition says of them (upstream: TypeMeta).
constexpr std::string_view kApiVersionProperty =
    R"({"type":"string","description":"APIVersion defines the versioned schema of this representation of an object."})";
constexpr std::string_view kKindProperty =
    R"({"type":"string","description":"Kind is a string value that names the REST resource this object represents, in CamelCase. Cannot be updated."})";
constexpr std::string_view kMetadataDescription = "Standard object's metadata.";

void WriteSelectableFields(const KindInfo& kind, JsonText& json) {
  if (kind.selectable_fields.empty()) return;
  json.Array("x-kubernetes-selectable-fields", [&] {
    for (const auto path : kind.selectable_fields) json.Object([&] { json.String("fieldPath", path); });
  });
}

bool IsMetaMember(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

void Require(json::Value& node, std::string_view name) {
  json::Value& required = node["required"];
  if (!required.is_array()) required = json::Array();
  auto& names = required.as_array();
  if (std::find(names.begin(), names.end(), json::Value(name)) == names.end()) names.emplace_back(name);
}

}  // namespace

// Embedded resources have the members of all objects (upstream: addEmbeddedProperties).
void SchemaSet::AddEmbedded(json::Value& node) const {
  if (!node.is_object()) return;
  if (auto* properties = node.Find("properties"); properties != nullptr && properties->is_object())
    for (auto& member : properties->as_object()) AddEmbedded(member.second);
  for (const char* child : {"items", "additionalProperties"})
    if (auto* found = node.Find(child)) AddEmbedded(*found);
  const auto& given = std::as_const(node);
  if (!given["x-kubernetes-embedded-resource"].bool_or(false)) return;
  if (dialect_ == Dialect::kV2 && given["x-kubernetes-preserve-unknown-fields"].bool_or(false)) return;
  const bool v2 = dialect_ == Dialect::kV2;
  const std::string ref =
      (v2 ? "#/definitions/" : "#/components/schemas/") + std::string(ObjectMetaType().name);
  json::Value reference = json::Object{{"$ref", ref}};
  json::Value metadata = json::Object{{"description", kMetadataDescription}};
  if (v2)
    metadata["$ref"] = ref;
  else
    metadata["allOf"] = json::Array{std::move(reference)};
  json::Value& properties = node["properties"];
  if (!properties.is_object()) properties = json::Object{};
  properties["apiVersion"] = *json::Parse(kApiVersionProperty);
  properties["kind"] = *json::Parse(kKindProperty);
  properties["metadata"] = std::move(metadata);
  Require(node, "kind");
  Require(node, "apiVersion");
}

void SchemaSet::WriteCustom(const KindInfo& kind, JsonText& json) const {
  json::Value node = kind.type_source != nullptr ? kind.type_source->OpenApiSchema() : json::Value();
  const bool v2 = dialect_ == Dialect::kV2;
  // Clients refuse what a schema with properties does not name: one that is open says nothing at all.
  if (!node.is_object() || (v2 && std::as_const(node)["x-kubernetes-preserve-unknown-fields"].bool_or(false)))
    return json.Object([&] {
      json.String("type", "object");
      WriteIdentities(SchemaName(kind), json);
      WriteSelectableFields(kind, json);
    });
  if (v2) node = ToSwagger(node);
  AddEmbedded(node);
  json.Object([&] {
    for (const auto& [keyword, value] : node.as_object())
      if (keyword != "properties" && keyword != "x-kubernetes-group-version-kind") json.Value(keyword, value);
    json.Object("properties", [&] {
      json.Raw("apiVersion", kApiVersionProperty);
      json.Raw("kind", kKindProperty);
      json.Object("metadata", [&] {
        json.String("description", kMetadataDescription);
        WriteReference(ObjectMetaType().name, json);
      });
      if (const auto& properties = std::as_const(node)["properties"]; properties.is_object())
        for (const auto& [name, property] : properties.as_object())
          if (!IsMetaMember(name)) json.Value(name, property);
    });
    WriteIdentities(SchemaName(kind), json);
    WriteSelectableFields(kind, json);
  });
}

void SchemaSet::WriteCustomList(const KindInfo& kind, JsonText& json) const {
  const std::string name = SchemaName(kind), kind_name(kind.kind);
  json.Object([&] {
    json.String("description", kind_name + "List is a list of " + kind_name);
    json.String("type", "object");
    json.Raw("required", R"(["items"])");
    json.Object("properties", [&] {
      json.Raw("apiVersion", kApiVersionProperty);
      json.Object("items", [&] {
        json.String("description", "List of " + std::string(kind.plural) + ".");
        json.String("type", "array");
        json.Object("items", [&] { WriteReference(name, json); });
      });
      json.Raw("kind", kKindProperty);
      json.Object("metadata", [&] {
        json.String("description", "Standard list metadata.");
        WriteReference(ListMetaType().name, json);
      });
    });
    WriteIdentities(name + "List", json);
    WriteSelectableFields(kind, json);
  });
}

namespace {

bool IsJunctor(std::string_view keyword) {
  return keyword == "oneOf" || keyword == "anyOf" || keyword == "allOf" || keyword == "not";
}

// What may be null is not required in a language without null.
json::Value RequiredBesidesNullable(const json::Value& node) {
  json::Array kept;
  if (node["additionalProperties"]["nullable"].bool_or(false) || !node["required"].is_array()) return kept;
  for (const auto& name : node["required"].as_array())
    if (!node["properties"][name.string_or("")]["nullable"].bool_or(false)) kept.push_back(name);
  return kept;
}

json::Value ShapeToSwagger(std::string_view keyword, const json::Value& value) {
  if (keyword != "properties" || !value.is_object()) return ToSwagger(value);
  json::Object properties;
  for (const auto& [name, child] : value.as_object()) properties.Append(name, ToSwagger(child));
  return properties;
}

}  // namespace

// Old clients stumble over items and properties of untyped values, lists without items, and objects that keep
// unknown fields: there the type is left out too (upstream: ToStructuralOpenAPIV2).
json::Value ToSwagger(const json::Value& node) {
  if (!node.is_object()) return node;
  const bool nullable = node["nullable"].bool_or(false);
  const bool open = node["x-kubernetes-preserve-unknown-fields"].bool_or(false);
  const auto type = node["type"].string_or("");
  const bool bare_list = type == "array" && (open || nullable || !node["items"].is_object());
  const bool untyped = nullable || bare_list || (open && type == "object");
  json::Object out;
  for (const auto& [keyword, value] : node.as_object()) {
    const bool shape = keyword == "properties" || keyword == "items";
    if (IsJunctor(keyword) || keyword == "nullable") continue;
    if ((keyword == "type" && untyped) || (shape && (nullable || open))) continue;
    if (keyword == "required") {
      if (auto kept = RequiredBesidesNullable(node); !kept.empty()) out.Append(keyword, std::move(kept));
    } else {
      out.Append(keyword,
                 shape || keyword == "additionalProperties" ? ShapeToSwagger(keyword, value) : value);
    }
  }
  return out;
}

}  // namespace flyball::api
