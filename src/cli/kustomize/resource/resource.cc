#include "cli/kustomize/resource/resource.h"

#include "json/json.h"

namespace flyball::cli::kustomize {
namespace {

std::string MetadataText(const json::Value& object, const char* member) {
  return ScalarText(object["metadata"][member]);
}

json::Value& MetadataOf(json::Value& object) {
  json::Value& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::Object();
  return metadata;
}

}  // namespace

std::string Origin::ToYaml(std::string_view first, std::string_view rest) const {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += std::string(text.empty() ? first : rest) + line + "\n";
  };
  if (!path.empty()) add("path: " + path);
  if (!configured_in.empty()) add("configuredIn: " + configured_in);
  if (configured_by.empty()) return text;
  add("configuredBy:");
  add("  apiVersion: builtin");
  add("  kind: " + configured_by);
  return text;
}

std::string ScalarText(const json::Value& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_array() || value.is_object() || value.is_null()) return "";
  return json::Write(value);
}

json::Value& MetadataMap(json::Value& object, std::string_view member) {
  json::Value& map = MetadataOf(object)[member];
  if (!map.is_object()) map = json::Object();
  return map;
}

std::string Resource::name() const {
  return MetadataText(object, "name");
}
std::string Resource::ns() const {
  return MetadataText(object, "namespace");
}
std::string Resource::kind() const {
  return ScalarText(object["kind"]);
}
Gvk Resource::gvk() const {
  return GvkOf(ScalarText(object["apiVersion"]), kind());
}

std::vector<ResourceId> Resource::FormerIds() const {
  std::vector<ResourceId> ids;
  const Gvk now = gvk();
  for (const Former& was : former) ids.push_back({{now.group, now.version, was.kind}, was.name, was.ns});
  return ids;
}

ResourceId Resource::OriginalId() const {
  return former.empty() ? Id() : FormerIds().front();
}

std::vector<ResourceId> Resource::AllIds() const {
  std::vector<ResourceId> ids = FormerIds();
  ids.push_back(Id());
  return ids;
}

void Resource::Remember() {
  const ResourceId id = Id();
  former.push_back({id.name, id.EffectiveNamespace(), id.gvk.kind});
}

void Resource::SetName(std::string_view name) {
  MetadataOf(object)["name"] = name;
}

void Resource::SetNamespace(std::string_view ns) {
  if (ns.empty())
    MetadataOf(object).as_object().Erase("namespace");
  else
    MetadataOf(object)["namespace"] = ns;
}

void FinishAnnotations(Resource& resource, bool with_origin, bool with_changes) {
  json::Object& annotations = MetadataMap(resource.object, "annotations").as_object();
  for (auto& [key, value] : annotations)
    if (!value.is_string()) value = ScalarText(value);
  if (with_origin && resource.origin)
    annotations.Set("config.kubernetes.io/origin", resource.origin->ToYaml("", ""));
  if (with_changes && !resource.changes.empty()) {
    std::string text;
    for (const Origin& change : resource.changes) text += change.ToYaml("- ", "  ");
    annotations.Set("alpha.config.kubernetes.io/transformations", text);
  }
  if (annotations.empty()) resource.object["metadata"].as_object().Erase("annotations");
}

}  // namespace flyball::cli::kustomize
