#include "api/openapi/merge.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flyball::api {
namespace {

using json::Value;

// The two parts of a document that others refer to.
constexpr std::string_view kSections[] = {"definitions", "parameters"};

// Calls fn for every "$ref" in the tree. Documents are parsed with a bounded depth.
void ForEachRef(Value& tree, const std::function<void(Value& ref)>& fn) {
  if (tree.is_array())
    for (auto& element : tree.as_array()) ForEachRef(element, fn);
  if (!tree.is_object()) return;
  for (auto& [key, value] : tree.as_object()) {
    if (key == "$ref" && value.is_string())
      fn(value);
    else
      ForEachRef(value, fn);
  }
}

// "#/definitions/X" → {"definitions", "X"}; empty if it is none of that form.
std::pair<std::string, std::string> TargetOf(std::string_view ref) {
  for (const auto section : kSections) {
    const std::string prefix = "#/" + std::string(section) + "/";
    if (ref.starts_with(prefix)) return {std::string(section), std::string(ref.substr(prefix.size()))};
  }
  return {};
}

void KeepReferredTo(Value& document) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::pair<std::string, std::string>> open;
  const auto note = [&](Value& ref) {
    auto target = TargetOf(ref.as_string());
    if (!target.first.empty() && seen.insert(target).second) open.push_back(std::move(target));
  };
  ForEachRef(document["paths"], note);
  while (!open.empty()) {
    const auto [section, name] = std::move(open.back());
    open.pop_back();
    Value* parts = document.Find(section);
    if (Value* part = parts ? parts->Find(name) : nullptr) ForEachRef(*part, note);
  }
  for (const auto section : kSections)
    if (Value* parts = document.Find(section); parts && parts->is_object())
      parts->as_object().EraseIf([&](std::string_view name, const Value&) {
        return !seen.contains({std::string(section), std::string(name)});
      });
}

// What a part of `other` will be called: its own name unless that means something else already.
std::string FreeName(const Value& taken, const std::string& name, const Value& part) {
  std::string candidate = name;
  for (int number = 2;; ++number) {
    const Value* there = taken.Find(candidate);
    if (!there || *there == part) return candidate;
    candidate = name + "_v" + std::to_string(number);
  }
}

using Renames = std::map<std::pair<std::string, std::string>, std::string>;

Renames RenamesFor(const Value& document, const Value& other) {
  Renames renames;
  for (const auto section : kSections) {
    const Value& parts = other[section];
    if (!parts.is_object()) continue;
    for (const auto& [name, part] : parts.as_object())
      if (const auto free = FreeName(document[section], name, part); free != name)
        renames[{std::string(section), name}] = free;
  }
  return renames;
}

void AddSection(Value& document, Value& other, std::string_view section, const Renames& renames) {
  Value* parts = other.Find(section);
  if (!parts || !parts->is_object()) return;
  Value& into = document[section];
  if (!into.is_object()) into = json::Object();
  for (auto& [name, part] : parts->as_object()) {
    const auto renamed = renames.find({std::string(section), name});
    into.as_object().Set(renamed == renames.end() ? name : renamed->second, std::move(part));
  }
}

// --- From v2 to v3.

constexpr std::string_view kV2Schemas = "#/definitions/", kV3Schemas = "#/components/schemas/";

Value WithV3Refs(Value tree) {
  ForEachRef(tree, [](Value& ref) {
    const std::string text(ref.as_string());
    if (text.starts_with(kV2Schemas)) ref = std::string(kV3Schemas) + text.substr(kV2Schemas.size());
  });
  return tree;
}

// "application/json" → {"schema": ...} for each media type.
Value ContentOf(const Value& schema, const Value& media_types) {
  json::Object content;
  const Value types =
      media_types.is_array() && !media_types.empty() ? media_types : Value(json::Array{"application/json"});
  for (const auto& type : types.as_array())
    if (type.is_string()) content.Set(type.as_string(), json::Object{{"schema", WithV3Refs(schema)}});
  return content;
}

const Value& Resolved(const Value& document, const Value& parameter) {
  const auto [section, name] = TargetOf(parameter["$ref"].string_or(""));
  return section.empty() ? parameter : document[section][name];
}

// A v2 parameter says its type itself; in v3 a schema does.
Value ConvertParameter(const Value& parameter) {
  constexpr std::string_view kOwn[] = {"name", "in", "description", "required"};
  json::Object out, schema;
  for (const auto& [key, value] : parameter.as_object()) {
    const bool own =
        std::find(std::begin(kOwn), std::end(kOwn), key) != std::end(kOwn) || key.starts_with("x-");
    (own ? out : schema).Set(key, value);
  }
  if (!schema.empty()) out.Set("schema", WithV3Refs(std::move(schema)));
  return out;
}

// The parameters of a path or operation; a body becomes `request_body`.
Value ConvertParameters(const Value& document, const Value& parameters, const Value& consumes,
                        Value& request_body) {
  json::Array out;
  if (!parameters.is_array()) return out;
  for (const auto& entry : parameters.as_array()) {
    const Value& parameter = Resolved(document, entry);
    if (!parameter.is_object()) continue;
    if (parameter["in"].string_or("") != "body") {
      out.push_back(ConvertParameter(parameter));
      continue;
    }
    request_body = json::Object{{"content", ContentOf(parameter["schema"], consumes)}};
    if (parameter["required"].bool_or(false)) request_body["required"] = true;
  }
  return out;
}

Value ConvertResponses(const Value& responses, const Value& produces) {
  json::Object out;
  if (!responses.is_object()) return out;
  for (const auto& [code, response] : responses.as_object()) {
    json::Object converted{{"description", std::string(response["description"].string_or(""))}};
    if (response["schema"].is_object()) converted.Set("content", ContentOf(response["schema"], produces));
    out.Set(code, std::move(converted));
  }
  return out;
}

Value ConvertOperation(const Value& document, const Value& operation) {
  json::Object out;
  Value body;
  for (const auto& [key, value] : operation.as_object()) {
    if (key == "consumes" || key == "produces" || key == "schemes") continue;
    if (key == "parameters")
      out.Set(key, ConvertParameters(document, value, operation["consumes"], body));
    else if (key == "responses")
      out.Set(key, ConvertResponses(value, operation["produces"]));
    else
      out.Set(key, value);
  }
  if (!body.is_null()) out.Set("requestBody", std::move(body));
  return out;
}

Value ConvertPath(const Value& document, const Value& path) {
  json::Object out;
  if (!path.is_object()) return out;
  Value ignored;
  for (const auto& [key, value] : path.as_object())
    if (key == "parameters")
      out.Set(key, ConvertParameters(document, value, {}, ignored));
    else
      out.Set(key, value.is_object() && !key.starts_with("x-") ? ConvertOperation(document, value) : value);
  return out;
}

}  // namespace

void FilterOpenApiV2(Value& document, std::string_view path_prefix) {
  Value* paths = document.Find("paths");
  if (!paths || !paths->is_object()) return;
  paths->as_object().EraseIf(
      [&](std::string_view path, const Value&) { return !path.starts_with(path_prefix); });
  KeepReferredTo(document);
}

void MergeOpenApiV2(Value& document, Value other) {
  const Renames renames = RenamesFor(document, other);
  if (!renames.empty())
    ForEachRef(other, [&](Value& ref) {
      const auto target = TargetOf(ref.as_string());
      if (const auto renamed = renames.find(target); renamed != renames.end())
        ref = "#/" + target.first + "/" + renamed->second;
    });
  for (const auto section : kSections) AddSection(document, other, section, renames);
  Value* paths = other.Find("paths");
  if (!paths || !paths->is_object()) return;
  Value& into = document["paths"];
  if (!into.is_object()) into = json::Object();
  for (auto& [path, item] : paths->as_object())
    if (!into.Find(path)) into.as_object().Set(path, std::move(item));
}

Value ConvertOpenApiV2ToV3(const Value& document) {
  json::Object paths, schemas;
  if (document["paths"].is_object())
    for (const auto& [path, item] : document["paths"].as_object())
      paths.Set(path, ConvertPath(document, item));
  if (document["definitions"].is_object())
    for (const auto& [name, schema] : document["definitions"].as_object())
      schemas.Set(name, WithV3Refs(schema));
  return json::Object{{"openapi", "3.0.0"},
                      {"info", document["info"]},
                      {"paths", std::move(paths)},
                      {"components", json::Object{{"schemas", Value(std::move(schemas))}}}};
}

}  // namespace flyball::api
