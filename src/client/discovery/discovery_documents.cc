#include "client/discovery/discovery_documents.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "json/json.h"

namespace flyball {
namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

const json::Array& ItemsOf(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

std::string GroupVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

json::Value VersionEntry(std::string_view group, std::string_view version) {
  return json::Object{{"groupVersion", GroupVersion(group, version)}, {"version", version}};
}

// One resource of an APIGroupDiscovery as an APIResource; `name` has the subresource, if it is one.
json::Value PlainResource(const json::Value& from, const std::string& name, bool namespaced) {
  json::Object out{
      {"name", name}, {"singularName", from["singularResource"].string_or("")}, {"namespaced", namespaced}};
  const json::Value& kind = from["responseKind"];
  for (const char* field : {"group", "version"})
    if (!kind[field].string_or("").empty()) out.Set(field, kind[field]);
  out.Set("kind", kind["kind"].string_or(""));
  out.Set("verbs", from["verbs"].is_array() ? from["verbs"] : json::Value(json::Array()));
  for (const char* field : {"shortNames", "categories"})
    if (from[field].is_array()) out.Set(field, from[field]);
  return out;
}

json::Value PlainResources(const json::Value& version, const std::string& group_version) {
  json::Array resources;
  for (const json::Value& resource : ItemsOf(version["resources"])) {
    const std::string name(resource["resource"].string_or(""));
    const bool namespaced = resource["scope"].string_or("") == "Namespaced";
    if (!resource["responseKind"]["kind"].string_or("").empty())
      resources.push_back(PlainResource(resource, name, namespaced));
    for (const json::Value& sub : ItemsOf(resource["subresources"]))
      resources.push_back(
          PlainResource(sub, name + "/" + std::string(sub["subresource"].string_or("")), namespaced));
  }
  return json::Object{{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", group_version},
                      {"resources", std::move(resources)}};
}

// The first version is the preferred one.
void AddAggregated(const json::Value& list, DiscoveryDocuments& documents, json::Array& groups) {
  for (const json::Value& item : ItemsOf(list["items"])) {
    const std::string name(item["metadata"]["name"].string_or(""));
    json::Array versions;
    for (const json::Value& version : ItemsOf(item["versions"])) {
      const std::string_view number = version["version"].string_or("");
      versions.push_back(VersionEntry(name, number));
      if (version["freshness"].string_or("Current") == "Stale") continue;
      const std::string group_version = GroupVersion(name, number);
      documents.resources.emplace_back(group_version, PlainResources(version, group_version));
    }
    if (versions.empty()) continue;
    json::Value preferred = versions[0];
    groups.emplace_back(json::Object{
        {"name", name}, {"versions", std::move(versions)}, {"preferredVersion", std::move(preferred)}});
  }
}

std::vector<std::string> VersionsOf(const json::Value& group) {
  const std::string preferred(group["preferredVersion"]["groupVersion"].string_or(""));
  std::vector<std::string> versions{preferred};
  for (const json::Value& version : ItemsOf(group["versions"]))
    if (version["groupVersion"].string_or("") != preferred)
      versions.emplace_back(version["groupVersion"].string_or(""));
  return versions;
}

std::string PathOf(const std::string& group_version) {
  return (group_version.find('/') == std::string::npos ? "/api/" : "/apis/") + group_version;
}

// What /api and /apis answer where they are not aggregated.
void AddPlain(const DiscoveryGet& get, const json::Value& list, DiscoveryDocuments& documents,
              json::Array& groups) {
  json::Array found = ItemsOf(list["groups"]);
  if (list["kind"].string_or("") == "APIVersions") {
    json::Array versions;
    for (const json::Value& version : ItemsOf(list["versions"]))
      versions.push_back(VersionEntry("", version.string_or("")));
    if (versions.empty()) return;
    const json::Value preferred = versions[0];
    found.emplace_back(
        json::Object{{"name", ""}, {"versions", std::move(versions)}, {"preferredVersion", preferred}});
  }
  for (json::Value& group : found) {
    for (const std::string& group_version : VersionsOf(group)) {
      if (auto resources = get(PathOf(group_version), "application/json"))
        documents.resources.emplace_back(group_version, std::move(*resources));
    }
    groups.push_back(std::move(group));
  }
}

Result<json::Value> ReadJson(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return Unexpected(text.error());
  return json::Parse(*text);
}

bool Recent(const std::string& path, TimePoint now) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  const TimePoint written{std::chrono::seconds(info.st_mtim.tv_sec)};
  return now - written < DiscoveryCache::kMaxAge;
}

// Readers see the old content or the new. Not synced: a copy that is lost is fetched again.
bool Replace(const std::string& path, const std::string& content) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  const std::string temporary = path + "." + std::to_string(::getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    if (!(out << content).flush()) return false;
  }
  fs::rename(temporary, path, failed);
  return !failed;
}

std::string ResourcesPath(const std::string& folder, const std::string& group_version) {
  return folder + "/" + group_version + "/serverresources.json";
}

}  // namespace

Result<DiscoveryDocuments> FetchDiscovery(const DiscoveryGet& get) {
  DiscoveryDocuments documents;
  json::Array groups;
  for (const char* path : {"/api", "/apis"}) {
    auto list = get(path, kAggregated);
    if (!list && list.error().Is(Reason::kNotFound)) continue;
    if (!list) return Unexpected(list.error());
    const json::Value& answer = *list;
    if (answer["kind"].string_or("") == "APIGroupDiscoveryList")
      AddAggregated(answer, documents, groups);
    else
      AddPlain(get, answer, documents, groups);
  }
  documents.groups =
      json::Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
  return documents;
}

std::optional<DiscoveryDocuments> DiscoveryCache::Read(TimePoint now) const {
  const std::string path = folder_ + "/servergroups.json";
  if (!Recent(path, now)) return std::nullopt;
  auto groups = ReadJson(path);
  if (!groups || !std::as_const(*groups)["groups"].is_array()) return std::nullopt;
  DiscoveryDocuments documents;
  documents.groups = std::move(*groups);
  for (const json::Value& group : ItemsOf(std::as_const(documents.groups)["groups"]))
    for (const std::string& group_version : VersionsOf(group)) {
      const std::string file = ResourcesPath(folder_, group_version);
      auto resources = Recent(file, now) ? ReadJson(file) : Result<json::Value>(json::Value());
      if (!resources || resources->is_null()) return std::nullopt;
      documents.resources.emplace_back(group_version, std::move(*resources));
    }
  return documents;
}

void DiscoveryCache::Write(const DiscoveryDocuments& documents) const {
  for (const auto& [group_version, resources] : documents.resources)
    if (!Replace(ResourcesPath(folder_, group_version), json::Write(resources))) return;
  Replace(folder_ + "/servergroups.json", json::Write(documents.groups));
}

std::string DiscoveryCache::FolderFor(const std::string& parent, const std::string& url) {
  std::string host = url;
  for (const std::string_view scheme : {"https://", "http://"})
    if (host.rfind(scheme, 0) == 0) host.erase(0, scheme.size());
  for (char& c : host)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '/' && c != '.' && c != '(' &&
        c != ')')
      c = '_';
  return parent + "/" + host;
}

}  // namespace flyball
