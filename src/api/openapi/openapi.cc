#include "api/openapi/openapi.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/openapi/information.h"
#include "api/openapi/json_text.h"
#include "api/openapi/operation.h"
#include "api/openapi/paths.h"
#include "api/openapi/schemas.h"

namespace flyball::api {

namespace {

constexpr std::size_t kTypicalBytes = 1u << 20;
// Counts as part of every fingerprint: bump it when the form of the documents changes.
constexpr std::string_view kFormVersion = "3";

constexpr std::string_view kBearerToken =
    R"({"type":"apiKey","description":"Bearer Token authentication","name":"authorization","in":"header"})";

std::vector<const KindInfo*> Select(KindList kinds, std::string_view group, std::string_view version) {
  std::vector<const KindInfo*> out;
  for (const KindInfo* kind : kinds)
    if (kind->group == group && kind->version == version) out.push_back(kind);
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->plural < b->plural; });
  return out;
}

std::string PathOf(std::string_view group, std::string_view version) {
  return (group.empty() ? "api/" : "apis/" + std::string(group) + '/') + std::string(version);
}

// Bodies that belong to every group version of the document.
void AddCommon(KindList all, SchemaSet& schemas) {
  for (const char* name : {"DeleteOptions", "WatchEvent"}) {
    const std::string full = std::string(kMetaPackage) + name;
    const TypeInfo* type = FindType(full);
    if (type == nullptr) continue;
    schemas.AddType(*type);
    for (const KindInfo* kind : all)
      schemas.AddIdentity(full, {std::string(kind->group), std::string(kind->version), name});
  }
  for (const char* name : {"Status", "APIResourceList"}) {
    const std::string full = std::string(kMetaPackage) + name;
    if (const TypeInfo* type = FindType(full)) schemas.AddType(*type);
    schemas.AddIdentity(full, {"", "v1", name});
  }
}

void AddAll(std::span<const KindInfo* const> selected, SchemaSet& schemas) {
  AddCommon(selected, schemas);
  for (const KindInfo* kind : selected) {
    schemas.AddKind(*kind);
    AddSubresourceSchemas(*kind, schemas);
  }
}

// A type of discovery, which is itself a kind of the version v1 of no group; that of /version is no kind.
void AddMetaKind(const TypeInfo& type, SchemaSet& schemas) {
  schemas.AddType(type);
  if (type.name.starts_with(kMetaPackage))
    schemas.AddIdentity(type.name, {"", "v1", std::string(type.name.substr(kMetaPackage.size()))});
}

void WriteKinds(std::span<const KindInfo* const> kinds, PathItemWriter& writer) {
  for (const KindInfo* kind : kinds)
    for (PathItem& item : KindPathItems(*kind)) writer.Write(std::move(item));
}

void WriteInfo(std::string_view server_version, JsonText& json) {
  json.Object("info", [&] {
    json.String("title", "Kubernetes");
    json.String("version", server_version);
  });
}

void AppendFingerprint(const KindInfo& kind, std::string& out) {
  for (const auto part : {kind.group, kind.version, kind.kind, kind.plural, kind.verbs})
    (out += part) += '\n';
  for (const auto& sub : kind.subresources) (out += sub.name) += '\n';
  // Built-in types are the program's; custom ones are what their definition says.
  if (kind.type_source != nullptr) (out += kind.type_source->Fingerprint()) += '\n';
}

std::string Fingerprint(std::span<const KindInfo* const> kinds) {
  std::string text(kFormVersion);
  for (const KindInfo* kind : kinds) AppendFingerprint(*kind, text);
  return DocumentHash(text);
}

}  // namespace

std::string OpenApiV3Hash(KindList kinds, std::string_view group, std::string_view version) {
  return Fingerprint(Select(kinds, group, version));
}

std::string OpenApiV3Index(KindList kinds) {
  JsonText json;
  const auto entry = [&](std::string_view group, std::string_view version) {
    const std::string path = PathOf(group, version);
    json.Object(path, [&] {
      json.String("serverRelativeURL",
                  "/openapi/v3/" + path + "?hash=" + OpenApiV3Hash(kinds, group, version));
    });
  };
  json.Object([&] {
    json.Object("paths", [&] {
      for (const auto version : VersionsOf(kinds, "")) entry("", version);
      for (const auto group : GroupsOf(kinds))
        for (const auto version : VersionsOf(kinds, group)) entry(group, version);
      for (const std::string& name : InformationDocuments(kinds))
        json.Object(name, [&] {
          json.String("serverRelativeURL", "/openapi/v3/" + name + "?hash=" + OpenApiV3InformationHash(name));
        });
    });
  });
  return json.Take();
}

std::optional<std::string> OpenApiV3Document(KindList kinds, std::string_view group, std::string_view version,
                                             std::string_view server_version) {
  const auto selected = Select(kinds, group, version);
  if (selected.empty()) return std::nullopt;
  SchemaSet schemas(Dialect::kV3);
  AddAll(selected, schemas);
  JsonText json;
  json.Reserve(kTypicalBytes);
  json.Object([&] {
    json.String("openapi", "3.0.0");
    WriteInfo(server_version, json);
    json.Object("paths", [&] {
      PathItemWriter writer(Dialect::kV3, schemas, json);
      if (!selected.front()->custom) writer.Write(GroupVersionPathItem(group, version));
      WriteKinds(selected, writer);
    });
    json.Object("components", [&] {
      json.Object("schemas", [&] { schemas.Write(json); });
      json.Object("securitySchemes", [&] { json.Raw("BearerToken", kBearerToken); });
    });
  });
  return json.Take();
}

std::string OpenApiV3InformationHash(std::string_view name) {
  return DocumentHash(std::string(kFormVersion) + std::string(name));
}

std::optional<std::string> OpenApiV3Information(KindList kinds, std::string_view name,
                                                std::string_view server_version) {
  const auto items = InformationPathItems(kinds, name);
  if (items.empty()) return std::nullopt;
  SchemaSet schemas(Dialect::kV3);
  const auto names = InformationSchemas(items);
  for (const std::string& schema : names)
    if (const TypeInfo* type = FindType(schema)) AddMetaKind(*type, schemas);
  JsonText json;
  json.Object([&] {
    json.String("openapi", "3.0.0");
    WriteInfo(server_version, json);
    json.Object("paths", [&] {
      PathItemWriter writer(Dialect::kV3, schemas, json);
      for (const PathItem& item : items) writer.Write(item);
    });
    json.Object("components", [&] {
      if (!names.empty()) json.Object("schemas", [&] { schemas.Write(json); });
      json.Object("securitySchemes", [&] { json.Raw("BearerToken", kBearerToken); });
    });
  });
  return json.Take();
}

namespace {

// The paths of discovery, /version, ... in the one document of version 2.
void WriteInformation(KindList kinds, SchemaSet& schemas, PathItemWriter& writer) {
  for (const std::string& name : InformationDocuments(kinds)) {
    const auto items = InformationPathItems(kinds, name);
    for (const std::string& schema : InformationSchemas(items))
      if (const TypeInfo* type = FindType(schema)) AddMetaKind(*type, schemas);
    for (const PathItem& item : items) writer.Write(item);
  }
  std::set<std::pair<std::string_view, std::string_view>> versions;
  for (const KindInfo* kind : kinds)
    if (!kind->custom && versions.emplace(kind->group, kind->version).second)
      writer.Write(GroupVersionPathItem(kind->group, kind->version));
}

}  // namespace

std::string OpenApiV2Hash(KindList kinds) {
  return Fingerprint(kinds);
}

std::string OpenApiV2Document(KindList kinds, std::string_view server_version) {
  SchemaSet schemas(Dialect::kV2);
  AddAll(kinds, schemas);
  JsonText json;
  json.Reserve(4 * kTypicalBytes);
  json.Object([&] {
    json.String("swagger", "2.0");
    WriteInfo(server_version, json);
    PathItemWriter writer(Dialect::kV2, schemas, json);
    json.Object("paths", [&] {
      WriteInformation(kinds, schemas, writer);
      WriteKinds(kinds, writer);
    });
    json.Object("definitions", [&] { schemas.Write(json); });
    json.Object("parameters", [&] { writer.WriteSharedParameters(); });
    json.Object("securityDefinitions", [&] { json.Raw("BearerToken", kBearerToken); });
    json.Raw("security", R"([{"BearerToken":[]}])");
  });
  return json.Take();
}

}  // namespace flyball::api
