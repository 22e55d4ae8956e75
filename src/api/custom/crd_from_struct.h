// The CustomResourceDefinition of a CustomResource, made from its field lists: what --print-crds prints.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/types/custom_resource.h"
#include "api/types/schema_names.h"
#include "api/types/struct_fields.h"
#include "json/json.h"
#include "json/value.h"

namespace flyball {

namespace schema_internal {

inline json::Value Type(const char* type, const char* format = nullptr) {
  json::Object out{{"type", type}};
  if (format) out.Set("format", format);
  return json::Value(std::move(out));
}

template <typename T>
json::Value SchemaOf();

template <HasFields T>
json::Value ObjectSchema();

// Of one of the API's own structs, with everything it holds.
json::Value BuiltinSchema(std::string_view schema_name);

inline json::Value IntOrStringSchema() {
  return json::Value(json::Object{{"anyOf", json::Array{Type("integer"), Type("string")}},
                                  {"x-kubernetes-int-or-string", true}});
}

template <typename T>
json::Value SchemaOf() {
  using fields_internal::IsOptional;
  using fields_internal::IsStringMap;
  using fields_internal::IsVector;
  if constexpr (std::is_same_v<T, bool>) {
    return Type("boolean");
  } else if constexpr (std::is_integral_v<T>) {
    return Type("integer", sizeof(T) <= 4 ? "int32" : "int64");
  } else if constexpr (std::is_floating_point_v<T>) {
    return Type("number", "double");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Type("string");
  } else if constexpr (std::is_same_v<T, api::Time>) {
    return Type("string", "date-time");
  } else if constexpr (std::is_same_v<T, api::Quantity> || std::is_same_v<T, api::IntOrString>) {
    return IntOrStringSchema();
  } else if constexpr (IsOptional<T>::value) {
    return SchemaOf<typename T::value_type>();
  } else if constexpr (IsVector<T>::value) {
    return json::Value(json::Object{{"type", "array"}, {"items", SchemaOf<typename T::value_type>()}});
  } else if constexpr (IsStringMap<T>::value) {
    return json::Value(
        json::Object{{"type", "object"}, {"additionalProperties", SchemaOf<typename T::mapped_type>()}});
  } else if constexpr (HasFields<T>) {
    return ObjectSchema<T>();
  } else if constexpr (std::is_same_v<T, json::Value>) {
    return json::Value(json::Object{{"x-kubernetes-preserve-unknown-fields", true}});
  } else if constexpr (requires { SchemaNameOf<T>::value; }) {
    return BuiltinSchema(SchemaNameOf<T>::value);
  } else {
    // A type with a FromJson of its own: only it knows.
    return json::Value(json::Object{{"x-kubernetes-preserve-unknown-fields", true}});
  }
}

void AddRules(const FieldRules& rules, json::Value& schema);

template <HasFields T>
json::Value ObjectSchema() {
  json::Object properties;
  json::Array required;
  const auto add = [&]<typename S, typename M>(const Field<S, M>& field) {
    json::Value schema = SchemaOf<M>();
    AddRules(field.rules, schema);
    properties.Set(field.name, std::move(schema));
    if (field.rules.required) required.emplace_back(field.name);
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, T::kFields);
  json::Object out{{"type", "object"}};
  if (!properties.empty()) out.Set("properties", json::Value(std::move(properties)));
  if (!required.empty()) out.Set("required", json::Value(std::move(required)));
  return json::Value(std::move(out));
}

template <typename Spec>
json::Value Columns() {
  json::Array columns;
  if constexpr (requires { Spec::kColumns; }) {
    for (const Column& column : Spec::kColumns) {
      json::Object out{{"name", column.name}, {"type", column.type}, {"jsonPath", column.json_path}};
      if (column.priority != 0) out.Set("priority", column.priority);
      columns.emplace_back(std::move(out));
    }
    columns.emplace_back(
        json::Object{{"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}});
  }
  return json::Value(std::move(columns));
}

// "shortNames" or "categories", if there are any.
inline void AddNameList(const char* member, const auto& list, json::Object& names) {
  json::Array out;
  for (const auto& name : list) out.emplace_back(std::string_view(name));
  names.Set(member, json::Value(std::move(out)));
}

template <typename Spec, typename StatusPart>
json::Value Subresources() {
  json::Object out;
  if constexpr (!std::is_same_v<StatusPart, NoStatus>) out.Set("status", json::Value(json::Object{}));
  if constexpr (requires { Spec::kScale; }) {
    constexpr ScalePaths kPaths = Spec::kScale;
    json::Object scale{{"specReplicasPath", kPaths.spec}, {"statusReplicasPath", kPaths.status}};
    if (kPaths.selector) scale.Set("labelSelectorPath", kPaths.selector);
    out.Set("scale", json::Value(std::move(scale)));
  }
  return json::Value(std::move(out));
}

template <typename Spec>
json::Value Names(std::string_view kind, std::string_view plural) {
  std::string singular(kind);
  for (char& c : singular)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  json::Object names{
      {"kind", kind}, {"listKind", std::string(kind) + "List"}, {"plural", plural}, {"singular", singular}};
  if constexpr (requires { Spec::kShortNames; }) AddNameList("shortNames", Spec::kShortNames, names);
  if constexpr (requires { Spec::kCategories; }) AddNameList("categories", Spec::kCategories, names);
  return json::Value(std::move(names));
}

// Names the definition. A group below k8s.io or kubernetes.io is marked as not approved by that community,
// without which servers refuse it.
json::Value DefinitionMetadata(std::string_view plural, std::string_view group);

}  // namespace schema_internal

template <typename T>
struct CustomResourceOf : std::false_type {};
template <typename S, FixedString G, FixedString V, FixedString K, typename St>
struct CustomResourceOf<CustomResource<S, G, V, K, St>> : std::true_type {
  using Spec = S;
  using StatusPart = St;
};
template <typename T>
concept IsCustomResource = CustomResourceOf<T>::value;

// apiextensions.k8s.io/v1, ready to be applied.
template <IsCustomResource T>
json::Value CustomResourceDefinitionOf() {
  using Spec = typename CustomResourceOf<T>::Spec;
  using StatusPart = typename CustomResourceOf<T>::StatusPart;
  using Traits = KindTraits<T>;
  using json::Array;
  using json::Object;
  Object properties{{"apiVersion", schema_internal::Type("string")},
                    {"kind", schema_internal::Type("string")},
                    {"metadata", schema_internal::Type("object")},
                    {"spec", schema_internal::SchemaOf<Spec>()}};
  Object version{{"name", Traits::version}, {"served", true}, {"storage", true}};
  if constexpr (!std::is_same_v<StatusPart, NoStatus>)
    properties.Set("status", schema_internal::SchemaOf<StatusPart>());
  if (json::Value subresources = schema_internal::Subresources<Spec, StatusPart>(); !subresources.empty())
    version.Set("subresources", std::move(subresources));
  if (json::Value columns = schema_internal::Columns<Spec>(); !columns.empty())
    version.Set("additionalPrinterColumns", std::move(columns));
  Object root{{"type", "object"}, {"properties", std::move(properties)}};
  version.Set("schema", json::Value(Object{{"openAPIV3Schema", std::move(root)}}));
  return json::Value(
      Object{{"apiVersion", "apiextensions.k8s.io/v1"},
             {"kind", "CustomResourceDefinition"},
             {"metadata", schema_internal::DefinitionMetadata(Traits::plural, Traits::group)},
             {"spec", Object{{"group", Traits::group},
                             {"names", schema_internal::Names<Spec>(Traits::kind, Traits::plural)},
                             {"scope", Traits::namespaced ? "Namespaced" : "Cluster"},
                             {"versions", Array{std::move(version)}}}}});
}

}  // namespace flyball
