#include "server/catalog/catalog.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "server/catalog/conversion.h"

namespace flyball::server {
namespace {

struct Place {
  std::string_view plural, folder;
};
// Resources that kube-apiserver keeps under another name than their plural.
constexpr std::array kPlaces = {
    Place{"nodes", "minions"},
    Place{"services", "services/specs"},
    Place{"endpoints", "services/endpoints"},
    Place{"ingresses", "ingress"},
    Place{"replicationcontrollers", "controllers"},
    Place{"networkpolicies", "networkpolicies"},
};

std::shared_ptr<const api::KindInfo> Unowned(const api::KindInfo& kind) {
  return {&kind, [](const api::KindInfo*) {}};  // the built-in tables live for ever
}

using Name = std::tuple<std::string_view, std::string_view, std::string_view>;

Name NameOf(const ResourcePtr& resource) {
  return {resource->kind->group, resource->kind->version, resource->kind->plural};
}

bool IsStored(const api::KindInfo& kind) {
  return kind.verbs.find("list") != std::string_view::npos && kind.kind != "ComponentStatus";
}

}  // namespace

std::string StoragePrefix(std::string_view group, std::string_view plural) {
  // Groups whose servers were once separate programs keep their group in the path.
  if (group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io")
    return "/registry/" + std::string(group) + "/" + std::string(plural) + "/";
  for (const auto& place : kPlaces)
    if (place.plural == plural) return "/registry/" + std::string(place.folder) + "/";
  return "/registry/" + std::string(plural) + "/";
}

std::string ServedResource::CacheKey(std::string_view namespace_name, std::string_view name) {
  std::string key(namespace_name);
  if (!key.empty()) key += '/';
  key += name;
  return key;
}

std::string ServedResource::Key(std::string_view namespace_name, std::string_view name) const {
  return prefix + CacheKey(kind->namespaced ? namespace_name : std::string_view{}, name);
}

bool ServedResource::IsStorageVersion() const {
  return !conversion && (!cache || cache->kind().version == kind->version);
}

const api::KindInfo& ServedResource::working_kind() const {
  return custom || !cache ? *kind : cache->kind();
}

ResourcePtr Catalog::Snapshot::Find(std::string_view group, std::string_view version,
                                    std::string_view plural) const {
  const Name name(group, version, plural);
  const auto it = std::ranges::lower_bound(by_name, name, {}, NameOf);
  return it == by_name.end() || NameOf(*it) != name ? nullptr : *it;
}

ResourcePtr Catalog::Snapshot::FindGroupResource(std::string_view group, std::string_view plural) const {
  ResourcePtr found;
  for (const auto& resource : ordered) {
    if (resource->kind->group != group || resource->kind->plural != plural) continue;
    if (!found || resource->IsStorageVersion()) found = resource;
  }
  return found;
}

ResourcePtr Catalog::Snapshot::FindKind(std::string_view group, std::string_view version,
                                        std::string_view kind) const {
  for (const auto& resource : ordered)
    if (resource->kind->group == group && resource->kind->version == version && resource->kind->kind == kind)
      return resource;
  return nullptr;
}

bool Catalog::Snapshot::HasGroup(std::string_view group) const {
  for (const auto& resource : ordered)
    if (resource->kind->group == group) return true;
  return false;
}

bool Catalog::Snapshot::HasGroupVersion(std::string_view group, std::string_view version) const {
  for (const auto& resource : ordered)
    if (resource->kind->group == group && resource->kind->version == version) return true;
  return false;
}

Result<std::unique_ptr<Catalog>> Catalog::Make(WatchCache& cache, const RuntimeConfig& config) {
  auto snapshot = std::make_shared<Snapshot>();
  for (const auto& kind : api::BuiltinKinds()) {
    auto resource = std::make_shared<ServedResource>();
    resource->kind = Unowned(kind);
    resource->disabled = !config.Serves(kind);
    resource->hooks = &api::HooksFor(kind.group, kind.kind);
    resource->conversion = ConversionFor(kind);
    if (IsStored(kind)) {
      resource->prefix = StoragePrefix(kind.group, kind.plural);
      // A version that is converted shares the cache of the one that is stored.
      auto stored = cache.AddResource(resource->prefix, Unowned(StoredKind(kind)));
      if (!stored) return Unexpected(stored.error());
      resource->cache = *stored;
    }
    snapshot->ordered.push_back(std::move(resource));
  }
  snapshot->by_name = snapshot->ordered;
  std::ranges::sort(snapshot->by_name, {}, NameOf);
  return std::unique_ptr<Catalog>(new Catalog(std::move(snapshot)));
}

std::shared_ptr<const Catalog::Snapshot> Catalog::snapshot() const {
  MutexLock lock(mu_);
  return snapshot_;
}

void Catalog::SetCustom(const std::string& group, const std::string& plural,
                        std::vector<ResourcePtr> versions) {
  MutexLock lock(mu_);
  auto next = std::make_shared<Snapshot>(*snapshot_);
  ++next->generation;
  const auto is_it = [&](const ResourcePtr& r) {
    return r->custom && r->kind->group == group && r->kind->plural == plural;
  };
  std::erase_if(next->by_name, is_it);
  std::erase_if(next->ordered, is_it);
  for (auto& version : versions) {
    next->by_name.insert(std::ranges::upper_bound(next->by_name, NameOf(version), {}, NameOf), version);
    next->ordered.push_back(std::move(version));
  }
  snapshot_ = std::move(next);
}

}  // namespace flyball::server
