#include "server/encryption/stored_definition.h"

#include <array>
#include <string_view>
#include <utility>

namespace flyball::server {
namespace {

// Of the specification, then of a version.
struct Common {
  std::string_view in_spec, in_version;
};
constexpr std::array<Common, 4> kCommon{Common{"subresources", "subresources"},
                                        Common{"validation", "schema"},
                                        Common{"additionalPrinterColumns", "additionalPrinterColumns"},
                                        Common{"selectableFields", "selectableFields"}};

void Rename(json::Value& object, std::string_view from, std::string_view to) {
  auto& members = object.as_object();
  json::Value* value = members.Find(from);
  if (!value) return;
  json::Value moved = std::move(*value);
  members.Erase(from);
  members.Set(to, std::move(moved));
}

// What all versions have in common goes into each.
void GiveToVersions(json::Value& spec) {
  for (const auto& [in_spec, in_version] : kCommon) {
    const json::Value* common = spec.Find(in_spec);
    if (!common) continue;
    const json::Value value = *common;
    spec.as_object().Erase(in_spec);
    for (auto& version : spec["versions"].as_array()) version[in_version] = value;
  }
  for (auto& version : spec["versions"].as_array()) {
    auto* columns = version.Find("additionalPrinterColumns");
    if (!columns || !columns->is_array()) continue;
    for (auto& column : columns->as_array()) Rename(column, "JSONPath", "jsonPath");
  }
}

void MoveWebhook(json::Value& conversion) {
  json::Value webhook = json::Object();
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"webhookClientConfig", "clientConfig"},
        {"conversionReviewVersions", "conversionReviewVersions"}}) {
    const json::Value* value = conversion.Find(from);
    if (!value) continue;
    webhook[to] = *value;
    conversion.as_object().Erase(from);
  }
  if (!webhook.as_object().empty()) conversion["webhook"] = std::move(webhook);
}

}  // namespace

bool IsOldDefinition(const json::Value& object) {
  return object["apiVersion"].string_or("") == "apiextensions.k8s.io/v1beta1" &&
         object["kind"].string_or("") == "CustomResourceDefinition" && object["spec"].is_object();
}

json::Value DefinitionFromOld(json::Value definition) {
  definition["apiVersion"] = "apiextensions.k8s.io/v1";
  json::Value& spec = definition["spec"];
  if (!spec["versions"].is_array() || spec["versions"].empty()) {
    const std::string version(std::as_const(spec)["version"].string_or(""));
    spec["versions"] = json::Array();
    if (!version.empty())
      spec["versions"].as_array().push_back(
          json::Object{{"name", version}, {"served", true}, {"storage", true}});
  }
  GiveToVersions(spec);
  spec.as_object().Erase("version");
  // Absent means true there and false here.
  if (const json::Value* preserve = spec.Find("preserveUnknownFields"); !preserve)
    spec["preserveUnknownFields"] = true;
  else if (!preserve->bool_or(true))
    spec.as_object().Erase("preserveUnknownFields");
  if (json::Value* conversion = spec.Find("conversion"); conversion && conversion->is_object())
    MoveWebhook(*conversion);
  return definition;
}

}  // namespace flyball::server
