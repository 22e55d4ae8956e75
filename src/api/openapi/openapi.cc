#include "api/openapi/openapi.h"

#include <algorithm>

#include "api/openapi/json_text.h"
#include "api/openapi/paths.h"
#include "api/openapi/schemas.h"

namespace flyball::api {

namespace {

constexpr std::size_t kTypicalBytes = 1u << 20;
// Counts as part of every fingerprint: bump it when the form of the documents changes.
constexpr std::string_view kFormVersion = "2";

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

// Bodies that belong to every group version.
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

void AddAll(std::span<const KindInfo* const> selected, KindList all, SchemaSet& schemas) {
  AddCommon(all, schemas);
  for (const KindInfo* kind : selected) {
    schemas.AddKind(*kind);
    AddSubresourceSchemas(*kind, schemas);
  }
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
    });
  });
  return json.Take();
}

std::optional<std::string> OpenApiV3Document(KindList kinds, std::string_view group, std::string_view version,
                                             std::string_view server_version) {
  const auto selected = Select(kinds, group, version);
  if (selected.empty()) return std::nullopt;
  SchemaSet schemas(Dialect::kV3);
  AddAll(selected, kinds, schemas);
  JsonText json;
  json.Reserve(kTypicalBytes);
  json.Object([&] {
    json.String("openapi", "3.0.0");
    WriteInfo(server_version, json);
    json.Object("paths", [&] {
      for (const KindInfo* kind : selected) WriteKindPaths(*kind, Dialect::kV3, schemas, json);
    });
    json.Object("components", [&] {
      json.Object("schemas", [&] { schemas.Write(json); });
      json.Object("securitySchemes", [&] { json.Raw("BearerToken", kBearerToken); });
    });
  });
  return json.Take();
}

std::string OpenApiV2Hash(KindList kinds) {
  return Fingerprint(kinds);
}

std::string OpenApiV2Document(KindList kinds, std::string_view server_version) {
  SchemaSet schemas(Dialect::kV2);
  AddAll(kinds, kinds, schemas);
  JsonText json;
  json.Reserve(4 * kTypicalBytes);
  json.Object([&] {
    json.String("swagger", "2.0");
    WriteInfo(server_version, json);
    json.Object("paths", [&] {
      for (const KindInfo* kind : kinds) WriteKindPaths(*kind, Dialect::kV2, schemas, json);
    });
    json.Object("definitions", [&] { schemas.Write(json); });
    json.Object("securityDefinitions", [&] { json.Raw("BearerToken", kBearerToken); });
    json.Raw("security", R"([{"BearerToken":[]}])");
  });
  return json.Take();
}

}  // namespace flyball::api
