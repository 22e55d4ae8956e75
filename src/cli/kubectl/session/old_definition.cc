#include "cli/kubectl/session/old_definition.h"

#include <utility>

namespace flyball::cli {
namespace {

using json::Value;

// Takes a member out of an object; null if it is not there.
Value Take(Value& object, std::string_view member) {
  Value* found = object.is_object() ? object.as_object().Find(member) : nullptr;
  if (found == nullptr) return {};
  Value taken = std::move(*found);
  object.as_object().Erase(member);
  return taken;
}

void SetIfAbsent(Value& object, std::string_view member, const Value& value) {
  if (!value.is_null() && std::as_const(object)[member].is_null()) object[member] = value;
}

Value KeepingSchema(Value validation, bool keep_unknown) {
  Value schema = Take(validation, "openAPIV3Schema");
  const bool absent = !schema.is_object();
  if (absent) schema = json::Object{};
  SetIfAbsent(schema, "type", "object");
  if (absent || keep_unknown) SetIfAbsent(schema, "x-kubernetes-preserve-unknown-fields", true);
  return json::Object{{"openAPIV3Schema", std::move(schema)}};
}

// v1 writes JSONPath as jsonPath.
void RenamePaths(Value& version) {
  Value* columns = version.as_object().Find("additionalPrinterColumns");
  if (columns == nullptr || !columns->is_array()) return;
  for (Value& column : columns->as_array())
    if (Value path = Take(column, "JSONPath"); !path.is_null()) column["jsonPath"] = std::move(path);
}

void ConvertConversion(Value& spec) {
  Value* conversion = spec.as_object().Find("conversion");
  if (conversion == nullptr || !conversion->is_object()) return;
  Value client = Take(*conversion, "webhookClientConfig");
  Value versions = Take(*conversion, "conversionReviewVersions");
  if (client.is_null()) return;
  // What v1beta1 assumes.
  if (versions.is_null()) versions = json::Array{"v1beta1"};
  (*conversion)["webhook"] =
      json::Object{{"clientConfig", std::move(client)}, {"conversionReviewVersions", std::move(versions)}};
}

}  // namespace

bool IsOldDefinition(const Value& object) {
  return object["apiVersion"].string_or("") == "apiextensions.k8s.io/v1beta1" &&
         object["kind"].string_or("") == "CustomResourceDefinition";
}

Value ConvertOldDefinition(Value definition) {
  definition["apiVersion"] = "apiextensions.k8s.io/v1";
  Value& spec = definition["spec"];
  if (!spec.is_object()) return definition;
  const Value name = Take(spec, "version"), validation = Take(spec, "validation"),
              subresources = Take(spec, "subresources"), columns = Take(spec, "additionalPrinterColumns");
  const bool keep_unknown = Take(spec, "preserveUnknownFields").bool_or(true);
  SetIfAbsent(spec, "scope", "Namespaced");
  if (!std::as_const(spec)["versions"].is_array())
    spec["versions"] = json::Array{json::Object{{"name", name}, {"served", true}, {"storage", true}}};
  for (Value& version : spec["versions"].as_array()) {
    if (!version.is_object()) continue;
    SetIfAbsent(version, "subresources", subresources);
    SetIfAbsent(version, "additionalPrinterColumns", columns);
    RenamePaths(version);
    Value own = Take(version, "schema");
    version["schema"] = KeepingSchema(own.is_null() ? validation : std::move(own), keep_unknown);
  }
  ConvertConversion(spec);
  return definition;
}

}  // namespace flyball::cli
