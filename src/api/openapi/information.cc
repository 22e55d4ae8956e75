#include "api/openapi/information.h"

#include <algorithm>

#include "api/openapi/paths.h"

namespace flyball::api {

namespace {

constexpr std::string_view kGroupPrefix = "apis/";

std::string Meta(std::string_view name) {
  return std::string(kMetaPackage) + std::string(name);
}

PathItem ReadOnly(std::string path, std::string tag, std::string id, std::string description,
                  std::string response) {
  PathItem item{.path = std::move(path), .tag = std::move(tag), .parameters = {}, .operations = {}};
  item.operations.push_back({.method = "get",
                             .action = "",
                             .id = std::move(id),
                             .description = std::move(description),
                             .parameters = {},
                             .body = "",
                             .response = std::move(response),
                             .gvk = {}});
  return item;
}

PathItem OfType(PathItem item, std::string media_type) {
  item.operations.front().produced = Produced::kText;
  item.operations.front().media_type = std::move(media_type);
  return item;
}

PathItem OfGroup(std::string_view group) {
  return ReadOnly("/apis/" + std::string(group) + "/", OpenApiTag(group, ""),
                  "get" + OpenApiGroupWord(group) + "APIGroup", "get information of a group",
                  Meta("APIGroup"));
}

std::vector<PathItem> Logs() {
  PathItem list = ReadOnly("/logs/", "logs", "logFileListHandler", "", "");
  PathItem file = ReadOnly("/logs/{logpath}", "logs", "logFileHandler", "", "");
  file.parameters.push_back({"logpath", "string", "path to the log", true});
  for (PathItem* item : {&list, &file}) item->operations.front().describes = false;
  return {OfType(std::move(list), ""), OfType(std::move(file), "")};
}

}  // namespace

PathItem GroupVersionPathItem(std::string_view group, std::string_view version) {
  std::string word = OpenApiGroupWord(group), number(version);
  if (!number.empty() && number[0] == 'v') number[0] = 'V';
  return ReadOnly(
      (group.empty() ? "/api/" : "/apis/" + std::string(group) + "/") + std::string(version) + "/",
      OpenApiTag(group, version), "get" + word + number + "APIResources", "get available resources",
      Meta("APIResourceList"));
}

std::vector<std::string> InformationDocuments(KindList kinds) {
  std::vector<std::string> names{
      ".well-known/openid-configuration", "api", "apis", "logs", "openid/v1/jwks", "version"};
  for (const KindInfo* kind : kinds) {
    if (kind->custom || kind->group.empty()) continue;
    std::string name = std::string(kGroupPrefix) + std::string(kind->group);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<PathItem> InformationPathItems(KindList kinds, std::string_view document) {
  const auto names = InformationDocuments(kinds);
  if (std::find(names.begin(), names.end(), document) == names.end()) return {};
  if (document == "api")
    return {
        ReadOnly("/api/", "core", "getCoreAPIVersions", "get available API versions", Meta("APIVersions"))};
  if (document == "apis")
    return {ReadOnly("/apis/", "apis", "getAPIVersions", "get available API versions", Meta("APIGroupList"))};
  if (document == "version")
    return {OfType(ReadOnly("/version/", "version", "getCodeVersion",
                            "get the version information for this server", std::string(kVersionInfoSchema)),
                   "application/json")};
  if (document == "logs") return Logs();
  if (document == ".well-known/openid-configuration")
    return {OfType(ReadOnly("/.well-known/openid-configuration/", "WellKnown",
                            "getServiceAccountIssuerOpenIDConfiguration",
                            "get the OpenID configuration of the issuer of service account tokens", ""),
                   "application/json")};
  if (document == "openid/v1/jwks")
    return {OfType(ReadOnly("/openid/v1/jwks/", "openid", "getServiceAccountIssuerOpenIDKeyset",
                            "get the public keys that verify service account tokens", ""),
                   "application/jwk-set+json")};
  return {OfGroup(document.substr(kGroupPrefix.size()))};
}

std::vector<std::string> InformationSchemas(const std::vector<PathItem>& items) {
  std::vector<std::string> names;
  for (const PathItem& item : items)
    for (const OpenApiOperation& op : item.operations)
      if (!op.response.empty()) names.push_back(op.response);
  return names;
}

}  // namespace flyball::api
