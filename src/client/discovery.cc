#include "client/discovery.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flyball {
namespace {

// How often a question that finds nothing may ask the server again.
constexpr Duration kFreshEnough = std::chrono::seconds(10);

std::vector<std::string> Strings(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const json::Value& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// An APIResourceList of one group and version.
void ReadResources(const json::Value& list, const std::string& group, const std::string& version,
                   std::vector<ApiResource>* out) {
  if (!list["resources"].is_array()) return;
  const std::size_t first = out->size();
  for (const json::Value& item : list["resources"].as_array()) {
    const std::string_view name = item["name"].string_or("");
    const std::size_t slash = name.find('/');
    if (slash != std::string_view::npos) {
      for (std::size_t i = first; i < out->size(); ++i)
        if ((*out)[i].ref.plural == name.substr(0, slash))
          (*out)[i].subresources.emplace_back(name.substr(slash + 1));
      continue;
    }
    ApiResource resource;
    resource.ref = {group, version, std::string(item["kind"].string_or("")), std::string(name),
                    item["namespaced"].bool_or(false)};
    resource.singular = item["singularName"].string_or("");
    resource.short_names = Strings(item["shortNames"]);
    resource.categories = Strings(item["categories"]);
    resource.verbs = Strings(item["verbs"]);
    out->push_back(std::move(resource));
  }
}

bool Named(const ApiResource& resource, const std::string& lower) {
  return resource.ref.plural == lower || resource.singular == lower || Lower(resource.ref.kind) == lower ||
         std::find(resource.short_names.begin(), resource.short_names.end(), lower) !=
             resource.short_names.end();
}

// "deployments.v1.apps" -> resource, version and group; either of the latter may be empty.
struct Spelled {
  std::string resource, version, group;
};
std::vector<Spelled> Spellings(const std::string& text) {
  std::vector<Spelled> out{{text, "", ""}};
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return out;
  const std::string resource = text.substr(0, dot), rest = text.substr(dot + 1);
  out.push_back({resource, "", rest});
  const std::size_t second = rest.find('.');
  if (second != std::string::npos) out.push_back({resource, rest.substr(0, second), rest.substr(second + 1)});
  return out;
}

const ApiResource* Lookup(const std::vector<ApiResource>& all, const std::string& text) {
  for (const Spelled& spelled : Spellings(text)) {
    for (const ApiResource& resource : all) {
      if (!Named(resource, spelled.resource)) continue;
      if (!spelled.group.empty() && resource.ref.group != spelled.group) continue;
      if (!spelled.version.empty() && resource.ref.version != spelled.version) continue;
      return &resource;
    }
  }
  return nullptr;
}

}  // namespace

Result<DiscoveryDocuments> RestMapper::Fetch() {
  auto documents = FetchDiscovery([&](const std::string& path, std::string_view accept) {
    RestRequest request;
    request.path = path;
    request.accept = accept;
    return client_.rest().DoJson(std::move(request));
  });
  if (documents && cache_) cache_->Write(*documents);
  return documents;
}

Result<RestMapper::Table> RestMapper::Load(bool fresh) {
  const SteadyTime now = client_.runtime().clock().Steady();
  uint64_t resets = 0;
  {
    MutexLock lock(mu_);
    if (table_ && (!fresh || now - loaded_ < kFreshEnough)) return table_;
    resets = resets_;
  }
  std::optional<DiscoveryDocuments> kept;
  if (cache_ && !fresh) kept = cache_->Read(client_.runtime().clock().Now());
  const bool from_disk = kept.has_value();
  if (!from_disk) {
    auto documents = Fetch();
    if (!documents) return Unexpected(documents.error());
    kept = std::move(*documents);
  }
  const auto table = std::make_shared<std::vector<ApiResource>>();
  for (const auto& [group_version, resources] : kept->resources) {
    const auto [group, version] = SplitApiVersion(group_version);
    ReadResources(resources, std::string(group), std::string(version), table.get());
  }
  MutexLock lock(mu_);
  // Reset was called meanwhile: what was read may be from before the reason for it.
  if (resets != resets_) return Table(table);
  table_ = table;
  // A copy from disk may be outdated at once.
  loaded_ = from_disk ? now - kFreshEnough : now;
  return table_;
}

void RestMapper::Reset() {
  MutexLock lock(mu_);
  table_ = nullptr;
  ++resets_;
}

Result<std::vector<ApiResource>> RestMapper::Resources() {
  auto table = Load(false);
  if (!table) return Unexpected(table.error());
  return **table;
}

Result<KindRef> RestMapper::ForKind(std::string_view group, std::string_view version, std::string_view kind) {
  for (const bool fresh : {false, true}) {
    auto table = Load(fresh);
    if (!table) return Unexpected(table.error());
    for (const ApiResource& resource : **table)
      if (resource.ref.group == group && resource.ref.kind == kind &&
          (version.empty() || resource.ref.version == version))
        return resource.ref;
  }
  return Unexpected(Error(Reason::kNotFound, "no matches for kind \"" + std::string(kind) + "\" in group \"" +
                                                 std::string(group) + "\""));
}

Result<KindRef> RestMapper::ForResource(std::string_view text) {
  const std::string lower = Lower(text);
  for (const bool fresh : {false, true}) {
    auto table = Load(fresh);
    if (!table) return Unexpected(table.error());
    if (const ApiResource* found = Lookup(**table, lower)) return found->ref;
  }
  return Unexpected(
      Error(Reason::kNotFound, "the server doesn't have a resource type \"" + std::string(text) + "\""));
}

Result<KindRef> RestMapper::ForObject(const json::Value& object) {
  const auto [group, version] = SplitApiVersion(object["apiVersion"].string_or(""));
  return ForKind(group, version, object["kind"].string_or(""));
}

}  // namespace flyball
