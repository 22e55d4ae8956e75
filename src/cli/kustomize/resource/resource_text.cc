#include "cli/kustomize/resource/resource_text.h"

#include <deque>
#include <map>

#include "cli/kustomize/resource/failure.h"
#include "json/yaml/yaml.h"
#include "json/yaml/yaml_core.h"

namespace flyball::cli::kustomize {
namespace {

std::string WithUnixLines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Separators are lines that start with "---" and say nothing else, except in a comment.
Result<std::vector<std::string>> SplitDocuments(const std::string& text) {
  std::vector<std::string> documents;
  std::size_t begin = 0, search = 0;
  for (;;) {
    const std::size_t at = text.find("\n---", search);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at + 1);
    if (end == std::string::npos) break;
    const std::string_view separator = std::string_view(text).substr(at, end - at);
    const std::string_view rest = Trimmed(separator.substr(4));
    if (!rest.empty() && rest[0] != '#')
      return Fail("invalid document separator: " + std::string(Trimmed(separator)));
    documents.push_back(text.substr(begin, at - begin) + "\n");
    begin = end + 1;
    search = begin;
  }
  documents.push_back(text.substr(begin));
  return documents;
}

std::string GoMapText(const json::Value& map) {
  std::map<std::string, std::string> sorted;
  if (map.is_object())
    for (const auto& [key, value] : map.as_object()) sorted[key] = ScalarText(value);
  std::string text = "map[";
  for (const auto& [key, value] : sorted) text += (text.size() == 4 ? "" : " ") + key + ":" + value;
  return text + "]";
}

// As Go prints the metadata of an object.
std::string MetadataText(const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  return "{{" + ScalarText(object["apiVersion"]) + " " + ScalarText(object["kind"]) + "} {{" +
         ScalarText(metadata["name"]) + " " + ScalarText(metadata["namespace"]) + "} " +
         GoMapText(metadata["labels"]) + " " + GoMapText(metadata["annotations"]) + "}}";
}

Status CheckMetadata(const json::Value& object) {
  if (object.Find("apiVersion") == nullptr && object.Find("kind") == nullptr &&
      object.Find("metadata") == nullptr)
    return Fail("missing Resource metadata");
  const std::string kind = ScalarText(object["kind"]);
  if (kind.empty()) return Fail("missing kind in object " + MetadataText(object));
  if (!kind.ends_with("List") && ScalarText(object["metadata"]["name"]).empty())
    return Fail("missing metadata.name in object " + MetadataText(object));
  return {};
}

// The objects of the documents; empty documents are left out. A single List stands for its items.
Result<std::deque<json::Value>> ParseDocuments(std::string_view text) {
  FLYBALL_ASSIGN(const auto documents, SplitDocuments(WithUnixLines(text)));
  std::deque<json::Value> objects;
  for (const std::string& document : documents) {
    auto object = json::ParseYamlCore(document);
    if (!object) return Fail("MalformedYAMLError: " + YamlProblem(object.error()));
    const std::string_view kind = std::as_const(*object)["kind"].string_or("");
    json::Value* items = object->Find("items");
    if (documents.size() == 1 && (kind == "List" || kind == "ResourceList") && items != nullptr) {
      if (items->is_array())
        for (json::Value& item : items->as_array()) objects.push_back(std::move(item));
    } else if (!object->is_null()) {
      objects.push_back(std::move(*object));
    }
  }
  return objects;
}

}  // namespace

std::string YamlProblem(const Error& error) {
  constexpr std::string_view kPrefix = "error converting YAML to JSON: ";
  return error.message().starts_with(kPrefix) ? error.message().substr(kPrefix.size()) : error.message();
}

Result<ResourceList::Items> ParseResources(std::string_view text) {
  FLYBALL_ASSIGN(auto objects, ParseDocuments(text));
  ResourceList::Items resources;
  while (!objects.empty()) {
    json::Value object = std::move(objects.front());
    objects.pop_front();
    if (object.is_null() || ((object.is_object() || object.is_array()) && object.empty())) continue;
    FLYBALL_TRY(CheckMetadata(object));
    json::Value* items = ScalarText(object["kind"]).ends_with("List") ? object.Find("items") : nullptr;
    if (items == nullptr) {
      auto resource = std::make_unique<Resource>();
      resource->object = std::move(object);
      resources.push_back(std::move(resource));
    } else if (items->is_array()) {
      for (json::Value& item : items->as_array()) objects.push_back(std::move(item));
    } else if (!items->is_null()) {
      return Fail("expected array in " + ScalarText(object["kind"]) + "/items, but found " +
                  std::string(json::GoKindName(*items)));
    }
  }
  return resources;
}

std::string WriteResources(const ResourceList& resources) {
  std::string text;
  for (const auto& resource : resources.items())
    text += (text.empty() ? "" : "---\n") + json::WriteYaml(resource->object);
  return text;
}

}  // namespace flyball::cli::kustomize
