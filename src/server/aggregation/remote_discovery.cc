#include "server/aggregation/remote_discovery.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::server {
namespace {

using json::Value;

// Discovery has a handful of levels.
constexpr std::size_t kMaxDiscoveryDepth = 50;

Error WrongShape(std::string_view what) {
  return BadRequest("discovery: " + std::string(what) + " is not what it should be");
}

// A string member; "" if it is absent.
Result<std::string> TextIn(const Value& object, std::string_view key) {
  const Value& value = object[key];
  if (!value.is_null() && !value.is_string()) return Unexpected(WrongShape(key));
  return std::string(value.string_or(""));
}

// An array member; empty if it is absent.
Result<const json::Array*> NamedList(const Value& object, std::string_view key) {
  static const json::Array kNone;
  const Value& value = object[key];
  if (value.is_null()) return &kNone;
  if (!value.is_array()) return Unexpected(WrongShape(key));
  return &value.as_array();
}

// Copies a list of strings unless it is empty.
Status CopyNames(const Value& from, std::string_view key, bool even_if_empty, json::Object& to) {
  FLYBALL_ASSIGN(const json::Array* names, NamedList(from, key));
  for (const auto& name : *names)
    if (!name.is_string()) return Unexpected(WrongShape(key));
  if (even_if_empty || !names->empty()) to.Append(key, *names);
  return {};
}

// Clients of some versions do not bear its absence (kubernetes/kubernetes#118361).
Result<Value> KindIn(const Value& object, std::string_view key) {
  json::Object kind;
  const Value& from = object[key];
  if (!from.is_null() && !from.is_object()) return Unexpected(WrongShape(key));
  for (const std::string_view part : {"group", "version", "kind"}) {
    FLYBALL_ASSIGN(std::string text, TextIn(from, part));
    kind.Append(part, std::move(text));
  }
  return Value(std::move(kind));
}

Status CopyTypes(const Value& from, json::Object& to) {
  FLYBALL_ASSIGN(const json::Array* types, NamedList(from, "acceptedTypes"));
  if (types->empty()) return {};
  json::Array out;
  for (const auto& type : *types) {
    FLYBALL_ASSIGN(Value kind, KindIn(json::Object{{"type", type}}, "type"));
    out.push_back(std::move(kind));
  }
  to.Append("acceptedTypes", std::move(out));
  return {};
}

Result<Value> ReadSubresource(const Value& from) {
  json::Object to;
  FLYBALL_ASSIGN(std::string name, TextIn(from, "subresource"));
  to.Append("subresource", std::move(name));
  FLYBALL_ASSIGN(Value kind, KindIn(from, "responseKind"));
  to.Append("responseKind", std::move(kind));
  FLYBALL_TRY(CopyTypes(from, to));
  FLYBALL_TRY(CopyNames(from, "verbs", true, to));
  return Value(std::move(to));
}

Result<Value> ReadResource(const Value& from) {
  json::Object to;
  FLYBALL_ASSIGN(std::string name, TextIn(from, "resource"));
  to.Append("resource", std::move(name));
  FLYBALL_ASSIGN(Value kind, KindIn(from, "responseKind"));
  to.Append("responseKind", std::move(kind));
  for (const std::string_view key : {"scope", "singularResource"}) {
    FLYBALL_ASSIGN(std::string text, TextIn(from, key));
    to.Append(key, std::move(text));
  }
  FLYBALL_TRY(CopyNames(from, "verbs", true, to));
  FLYBALL_TRY(CopyNames(from, "shortNames", false, to));
  FLYBALL_TRY(CopyNames(from, "categories", false, to));
  FLYBALL_ASSIGN(const json::Array* subresources, NamedList(from, "subresources"));
  json::Array read;
  for (const auto& subresource : *subresources) {
    FLYBALL_ASSIGN(Value one, ReadSubresource(subresource));
    read.push_back(std::move(one));
  }
  if (!read.empty()) to.Append("subresources", std::move(read));
  return Value(std::move(to));
}

Result<json::Array> ReadResources(const Value& version) {
  json::Array out;
  FLYBALL_ASSIGN(const json::Array* resources, NamedList(version, "resources"));
  for (const auto& resource : *resources) {
    FLYBALL_ASSIGN(Value one, ReadResource(resource));
    out.push_back(std::move(one));
  }
  return out;
}

// --- The older form, where subresources stand beside their resources as "name/subresource".

Result<Value> KindOfLegacy(const Value& from) {
  return KindIn(json::Object{{"kind", from}}, "kind");
}

const char* ScopeOf(const Value& from) {
  return from["namespaced"].bool_or(false) ? "Namespaced" : "Cluster";
}

Result<Value> ConvertLegacyResource(const Value& from) {
  json::Object to;
  FLYBALL_ASSIGN(std::string name, TextIn(from, "name"));
  to.Append("resource", std::move(name));
  FLYBALL_ASSIGN(Value kind, KindOfLegacy(from));
  to.Append("responseKind", std::move(kind));
  to.Append("scope", ScopeOf(from));
  FLYBALL_ASSIGN(std::string singular, TextIn(from, "singularName"));
  to.Append("singularResource", std::move(singular));
  FLYBALL_TRY(CopyNames(from, "verbs", true, to));
  FLYBALL_TRY(CopyNames(from, "shortNames", false, to));
  FLYBALL_TRY(CopyNames(from, "categories", false, to));
  return Value(std::move(to));
}

// Where each resource is in the list.
using Places = std::map<std::string, std::size_t>;

Status AddLegacySubresource(const Value& from, const std::string& parent, const std::string& name,
                            json::Array& resources, Places& places) {
  const auto [place, fresh] = places.try_emplace(parent, resources.size());
  if (fresh) {
    FLYBALL_ASSIGN(Value nothing, KindIn({}, ""));
    resources.push_back(json::Object{{"resource", parent},
                                     {"responseKind", std::move(nothing)},
                                     {"scope", ScopeOf(from)},
                                     {"singularResource", ""},
                                     {"verbs", json::Array()}});
  }
  json::Object to{{"subresource", name}};
  FLYBALL_ASSIGN(Value kind, KindOfLegacy(from));
  to.Append("responseKind", std::move(kind));
  FLYBALL_TRY(CopyNames(from, "verbs", true, to));
  Value& list = resources[place->second]["subresources"];
  if (list.is_null()) list = json::Array();
  list.as_array().push_back(std::move(to));
  return {};
}

Result<Value> ReadDocument(std::string_view text, std::string_view kind) {
  FLYBALL_ASSIGN(Value document, json::Parse(text, {.max_depth = kMaxDiscoveryDepth}));
  if (!document.is_object() || document["kind"].string_or("") != kind) return Unexpected(WrongShape(kind));
  return document;
}

}  // namespace

Result<DiscoveredVersions> ReadAggregatedDiscovery(std::string_view text) {
  FLYBALL_ASSIGN(const Value document, ReadDocument(text, "APIGroupDiscoveryList"));
  DiscoveredVersions found;
  FLYBALL_ASSIGN(const json::Array* groups, NamedList(document, "items"));
  for (const auto& group : *groups) {
    FLYBALL_ASSIGN(const std::string name, TextIn(group["metadata"], "name"));
    FLYBALL_ASSIGN(const json::Array* versions, NamedList(group, "versions"));
    for (const auto& version : *versions) {
      FLYBALL_ASSIGN(std::string version_name, TextIn(version, "version"));
      FLYBALL_ASSIGN(json::Array resources, ReadResources(version));
      found[{name, std::move(version_name)}] = std::move(resources);
    }
  }
  return found;
}

Result<json::Array> ReadResourceList(std::string_view text) {
  FLYBALL_ASSIGN(const Value document, ReadDocument(text, "APIResourceList"));
  FLYBALL_ASSIGN(const json::Array* listed, NamedList(document, "resources"));
  json::Array resources;
  Places places;
  for (const auto& entry : *listed) {
    FLYBALL_ASSIGN(const std::string name, TextIn(entry, "name"));
    if (name.find('/') != std::string::npos) continue;
    FLYBALL_ASSIGN(Value resource, ConvertLegacyResource(entry));
    places.try_emplace(name, resources.size());
    resources.push_back(std::move(resource));
  }
  for (const auto& entry : *listed) {
    FLYBALL_ASSIGN(const std::string name, TextIn(entry, "name"));
    const auto slash = name.find('/');
    if (slash == std::string::npos) continue;
    FLYBALL_TRY(
        AddLegacySubresource(entry, name.substr(0, slash), name.substr(slash + 1), resources, places));
  }
  return resources;
}

bool IsAggregatedDiscovery(std::string_view content_type) {
  const auto words = SplitText(content_type, ';');
  if (words.empty() || Trimmed(words[0]) != "application/json") return false;
  const auto has = [&](std::string_view wanted) {
    return std::any_of(words.begin() + 1, words.end(),
                       [&](const auto& word) { return Trimmed(word) == wanted; });
  };
  return has("g=apidiscovery.k8s.io") && has("v=v2") && has("as=APIGroupDiscoveryList");
}

}  // namespace flyball::server
