#include "api/wire/discovery.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "api/schema/storage_version.h"
#include "json/json.h"

namespace flyball::api {

namespace {

struct GroupPlace {
  std::string_view group;
  int priority;
};
// Upstream's GroupPriorityMinimum of the built-in groups, which is also their order.
constexpr std::array kGroups = {
    GroupPlace{"apiregistration.k8s.io", 20000},
    GroupPlace{"", 18000},
    GroupPlace{"apps", 17800},
    GroupPlace{"events.k8s.io", 17750},
    GroupPlace{"authentication.k8s.io", 17700},
    GroupPlace{"authorization.k8s.io", 17600},
    GroupPlace{"autoscaling", 17500},
    GroupPlace{"batch", 17400},
    GroupPlace{"certificates.k8s.io", 17300},
    GroupPlace{"networking.k8s.io", 17200},
    GroupPlace{"policy", 17100},
    GroupPlace{"rbac.authorization.k8s.io", 17000},
    GroupPlace{"storage.k8s.io", 16800},
    GroupPlace{"admissionregistration.k8s.io", 16700},
    GroupPlace{"apiextensions.k8s.io", 16700},
    GroupPlace{"scheduling.k8s.io", 16600},
    GroupPlace{"coordination.k8s.io", 16500},
    GroupPlace{"node.k8s.io", 16300},
    GroupPlace{"discovery.k8s.io", 16200},
    GroupPlace{"resource.k8s.io", 16200},
    GroupPlace{"flowcontrol.apiserver.k8s.io", 16100},
    GroupPlace{"internal.apiserver.k8s.io", 16000},
    GroupPlace{"storagemigration.k8s.io", 15800},
};

struct VersionPlace {
  std::string_view group, version;
  int priority;
};
// Versions whose priority is not that of most built-in ones.
constexpr std::array kVersions = {
    VersionPlace{"", "v1", 1},
    VersionPlace{"autoscaling", "v2", 30},
    VersionPlace{"flowcontrol.apiserver.k8s.io", "v1", 21},
    VersionPlace{"resource.k8s.io", "v1", 21},
};
constexpr int kBuiltinVersionPriority = 15;
constexpr DiscoveryPriority kCustomPriority = {1000, 100};  // upstream: crdRegistrationController

std::size_t GroupRank(std::string_view group) {
  const auto at = std::find_if(kGroups.begin(), kGroups.end(),
                               [group](const GroupPlace& place) { return place.group == group; });
  return static_cast<std::size_t>(at - kGroups.begin());
}

struct ParsedVersion {
  int stability = 0;  // 3 GA, 2 beta, 1 alpha, 0 none of our forms
  int major = 0, minor = 0;
};

bool TakeNumber(std::string_view& text, int& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out <= 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

ParsedVersion ParseVersion(std::string_view text) {
  ParsedVersion v;
  if (!text.starts_with('v')) return {};
  text.remove_prefix(1);
  if (!TakeNumber(text, v.major)) return {};
  if (text.empty()) return v.stability = 3, v;
  for (const auto& [name, stability] : {std::pair{"beta", 2}, std::pair{"alpha", 1}}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(std::string_view(name).size());
    v.stability = stability;
    return TakeNumber(text, v.minor) && text.empty() ? v : ParsedVersion{};
  }
  return {};
}

std::vector<const KindInfo*> KindsOf(KindList kinds, std::string_view group, std::string_view version) {
  std::vector<const KindInfo*> out;
  for (const KindInfo* k : kinds)
    if (k->group == group && k->version == version) out.push_back(k);
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->plural < b->plural; });
  return out;
}

json::Value Strings(std::span<const std::string_view> values) {
  json::Array out;
  for (const auto v : values) out.emplace_back(v);
  return out;
}

json::Value VerbList(std::string_view verbs) {
  json::Array out;
  while (!verbs.empty()) {
    const auto comma = verbs.find(',');
    out.emplace_back(verbs.substr(0, comma));
    verbs.remove_prefix(comma == std::string_view::npos ? verbs.size() : comma + 1);
  }
  return out;
}

std::vector<const SubresourceInfo*> SortedSubresources(const KindInfo& kind) {
  std::vector<const SubresourceInfo*> out;
  for (const auto& s : kind.subresources) out.push_back(&s);
  if (kind.custom) return out;  // status first
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return out;
}

std::string GroupVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + '/' + std::string(version);
}

json::Value LegacyResource(const KindInfo& kind) {
  json::Object r;
  r.Append("name", kind.plural);
  r.Append("singularName", kind.singular);
  r.Append("namespaced", kind.namespaced);
  r.Append("kind", kind.kind);
  r.Append("verbs", VerbList(kind.verbs));
  if (!kind.short_names.empty()) r.Append("shortNames", Strings(kind.short_names));
  if (!kind.categories.empty()) r.Append("categories", Strings(kind.categories));
  if (const auto hash = StorageVersionHash(kind); !hash.empty() && !kind.custom)
    r.Append("storageVersionHash", hash);
  return r;
}

json::Value LegacySubresource(const KindInfo& kind, const SubresourceInfo& sub) {
  json::Object r;
  r.Append("name", std::string(kind.plural) + '/' + std::string(sub.name));
  r.Append("singularName", "");
  r.Append("namespaced", kind.namespaced);
  const bool other_group = !sub.kind.empty() && !sub.group.empty() && sub.group != kind.group;
  if (other_group) r.Append("group", sub.group);
  if (other_group) r.Append("version", sub.version);
  r.Append("kind", sub.kind.empty() ? kind.kind : sub.kind);
  r.Append("verbs", VerbList(sub.verbs));
  return r;
}

json::Value GroupDocumentBody(KindList kinds, std::string_view group, bool with_type,
                              RemoteVersions remotes) {
  json::Object g;
  if (with_type) g.Append("kind", "APIGroup");
  if (with_type) g.Append("apiVersion", "v1");
  g.Append("name", group);
  json::Array versions;
  for (const auto v : VersionsOf(kinds, group, remotes)) {
    json::Object entry;
    entry.Append("groupVersion", GroupVersion(group, v));
    entry.Append("version", v);
    versions.emplace_back(std::move(entry));
  }
  json::Value preferred = versions.front();
  g.Append("versions", std::move(versions));
  g.Append("preferredVersion", std::move(preferred));
  return g;
}

json::Value ResponseKind(std::string_view group, std::string_view version, std::string_view kind) {
  json::Object o;
  o.Append("group", group);
  o.Append("version", version);
  o.Append("kind", kind);
  return o;
}

// Upstream names the group and version of built-in kinds only where they are not the enclosing ones.
json::Value ResponseKindOf(const KindInfo& kind) {
  if (kind.custom) return ResponseKind(kind.group, kind.version, kind.kind);
  return ResponseKind("", "", kind.kind);
}

json::Value AggregatedSubresource(const KindInfo& kind, const SubresourceInfo& sub) {
  json::Object r;
  r.Append("subresource", sub.name);
  const bool own = sub.kind.empty() || sub.kind == kind.kind;
  const bool other_group = !own && !sub.group.empty() && sub.group != kind.group;
  r.Append("responseKind", own           ? ResponseKindOf(kind)
                           : other_group ? ResponseKind(sub.group, sub.version, sub.kind)
                                         : ResponseKind("", "", sub.kind));
  r.Append("verbs", VerbList(sub.verbs));
  return r;
}

json::Value AggregatedResource(const KindInfo& kind) {
  json::Object r;
  r.Append("resource", kind.plural);
  r.Append("responseKind", ResponseKindOf(kind));
  r.Append("scope", kind.namespaced ? "Namespaced" : "Cluster");
  r.Append("singularResource", kind.singular);
  r.Append("verbs", VerbList(kind.verbs));
  if (!kind.short_names.empty()) r.Append("shortNames", Strings(kind.short_names));
  if (!kind.categories.empty()) r.Append("categories", Strings(kind.categories));
  json::Array subresources;
  for (const auto* sub : SortedSubresources(kind)) subresources.push_back(AggregatedSubresource(kind, *sub));
  if (!subresources.empty()) r.Append("subresources", std::move(subresources));
  return r;
}

const RemoteVersion* FindRemote(RemoteVersions remotes, std::string_view group, std::string_view version) {
  for (const auto& remote : remotes)
    if (remote.group == group && remote.version == version) return &remote;
  return nullptr;
}

json::Value AggregatedVersion(KindList kinds, std::string_view group, std::string_view version,
                              RemoteVersions remotes) {
  const RemoteVersion* remote = FindRemote(remotes, group, version);
  json::Array resources;
  if (remote) resources = remote->resources;
  if (!remote)
    for (const auto* kind : KindsOf(kinds, group, version)) resources.push_back(AggregatedResource(*kind));
  json::Object v;
  v.Append("version", version);
  if (!resources.empty()) v.Append("resources", std::move(resources));
  v.Append("freshness", remote && remote->stale ? "Stale" : "Current");
  return v;
}

json::Value AggregatedGroup(KindList kinds, std::string_view group, RemoteVersions remotes) {
  json::Object g, metadata;
  if (!group.empty()) metadata.Append("name", group);
  g.Append("metadata", std::move(metadata));
  json::Array versions;
  for (const auto version : VersionsOf(kinds, group, remotes))
    versions.push_back(AggregatedVersion(kinds, group, version, remotes));
  g.Append("versions", std::move(versions));
  return g;
}

// Where a version stands within its group.
int VersionPriority(std::string_view group, std::string_view version, RemoteVersions remotes) {
  const RemoteVersion* remote = FindRemote(remotes, group, version);
  return remote ? remote->priority.version : PriorityOf(group, version).version;
}

// Where a group stands: with the highest priority of its versions. Upstream's own group is always the first.
int GroupPriority(KindList kinds, std::string_view group, RemoteVersions remotes) {
  constexpr int kFirst = 20001;
  if (group == kGroups[0].group) return kFirst;
  int priority = 0;
  for (const KindInfo* kind : kinds)
    if (kind->group == group && !FindRemote(remotes, group, kind->version))
      priority = std::max(priority, PriorityOf(group, kind->version).group);
  for (const auto& remote : remotes)
    if (remote.group == group) priority = std::max(priority, remote.priority.group);
  return priority;
}

void AddUnique(std::vector<std::string_view>& to, std::string_view name) {
  if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

}  // namespace

int CompareVersions(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  const auto va = ParseVersion(a), vb = ParseVersion(b);
  if (va.stability != vb.stability) return va.stability > vb.stability ? -1 : 1;
  if (va.stability == 0) return a < b ? -1 : 1;
  if (va.major != vb.major) return va.major > vb.major ? -1 : 1;
  if (va.minor != vb.minor) return va.minor > vb.minor ? -1 : 1;
  return 0;
}

std::vector<std::string_view> VersionsOf(KindList kinds, std::string_view group, RemoteVersions remotes) {
  std::vector<std::string_view> out;
  for (const KindInfo* k : kinds)
    if (k->group == group) AddUnique(out, k->version);
  for (const auto& remote : remotes)
    if (remote.group == group) AddUnique(out, remote.version);
  std::sort(out.begin(), out.end(), [&](auto a, auto b) {
    const int first = VersionPriority(group, a, remotes), second = VersionPriority(group, b, remotes);
    return first != second ? first > second : CompareVersions(a, b) < 0;
  });
  return out;
}

std::vector<std::string_view> GroupsOf(KindList kinds, RemoteVersions remotes) {
  std::vector<std::string_view> names;
  for (const KindInfo* k : kinds)
    if (!k->group.empty()) AddUnique(names, k->group);
  for (const auto& remote : remotes)
    if (!remote.group.empty()) AddUnique(names, remote.group);
  std::vector<std::pair<int, std::string_view>> order;
  for (const auto name : names) order.emplace_back(-GroupPriority(kinds, name, remotes), name);
  std::sort(order.begin(), order.end());
  std::transform(order.begin(), order.end(), names.begin(), [](const auto& place) { return place.second; });
  return names;
}

DiscoveryPriority PriorityOf(std::string_view group, std::string_view version) {
  const std::size_t rank = GroupRank(group);
  if (rank == kGroups.size()) return kCustomPriority;
  for (const auto& place : kVersions)
    if (place.group == group && place.version == version) return {kGroups[rank].priority, place.priority};
  return {kGroups[rank].priority, kBuiltinVersionPriority};
}

std::string ApiVersionsDocument(std::string_view server_address) {
  json::Object address, document;
  address.Append("clientCIDR", "0.0.0.0/0");
  address.Append("serverAddress", server_address);
  document.Append("kind", "APIVersions");
  document.Append("versions", json::Array{"v1"});
  document.Append("serverAddressByClientCIDRs", json::Array{json::Value(std::move(address))});
  return json::Write(json::Value(std::move(document)));
}

std::string ApiGroupListDocument(KindList kinds, RemoteVersions remotes) {
  json::Array groups;
  for (const auto group : GroupsOf(kinds, remotes))
    groups.push_back(GroupDocumentBody(kinds, group, false, remotes));
  json::Object document;
  document.Append("kind", "APIGroupList");
  document.Append("apiVersion", "v1");
  document.Append("groups", std::move(groups));
  return json::Write(json::Value(std::move(document)));
}

std::optional<std::string> ApiGroupDocument(KindList kinds, std::string_view group, RemoteVersions remotes) {
  if (group.empty() || VersionsOf(kinds, group, remotes).empty()) return std::nullopt;
  return json::Write(GroupDocumentBody(kinds, group, true, remotes));
}

std::optional<std::string> ApiResourceListDocument(KindList kinds, std::string_view group,
                                                   std::string_view version) {
  const auto found = KindsOf(kinds, group, version);
  if (found.empty()) return std::nullopt;
  json::Array resources;
  for (const auto* kind : found) {
    resources.push_back(LegacyResource(*kind));
    for (const auto* sub : SortedSubresources(*kind)) resources.push_back(LegacySubresource(*kind, *sub));
  }
  json::Object document;
  document.Append("kind", "APIResourceList");
  if (!group.empty()) document.Append("apiVersion", "v1");
  document.Append("groupVersion", GroupVersion(group, version));
  document.Append("resources", std::move(resources));
  return json::Write(json::Value(std::move(document)));
}

std::string AggregatedDiscoveryDocument(KindList kinds, bool core, RemoteVersions remotes) {
  json::Array items;
  if (core) items.push_back(AggregatedGroup(kinds, "", remotes));
  if (!core)
    for (const auto group : GroupsOf(kinds, remotes)) items.push_back(AggregatedGroup(kinds, group, remotes));
  json::Object document;
  document.Append("kind", "APIGroupDiscoveryList");
  document.Append("apiVersion", "apidiscovery.k8s.io/v2");
  document.Append("metadata", json::Object());
  document.Append("items", std::move(items));
  return json::Write(json::Value(std::move(document)));
}

std::string DocumentHash(std::string_view document) {
  // Two FNV-1a sums with different bases: only equality matters, not secrecy.
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x9ae16a3b2f90404fu;
  for (const char c : document) {
    const auto byte = static_cast<unsigned char>(c);
    a = (a ^ byte) * 0x100000001b3u;
    b = (b ^ byte) * 0x100000001b3u;
    b ^= b >> 29;
  }
  std::string out;
  for (const auto half : {a, b})
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[(half >> shift) & 15u];
  return out;
}

std::string DocumentETag(std::string_view document) {
  return '"' + DocumentHash(document) + '"';
}

}  // namespace flyball::api
