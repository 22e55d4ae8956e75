// Discovery: the documents by which clients learn what the server serves. Pure functions of the list of
// kinds, built-in and custom alike; the caller keeps the text and its ETag until the list changes.
// Thread-safe.
//
// In every function `kinds` may be in any order; groups come out by upstream's priority (the built-in ones
// first, then custom ones by name) and that of other servers' versions, versions newest and stablest first,
// resources by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

using KindList = std::span<const KindInfo* const>;

// -1, 0 or 1 as version `a` comes before, with or after `b` in lists: v2, v1, v1beta2, v1beta1, v1alpha1,
// then anything else by name (upstream: CompareKubeAwareVersionStrings).
int CompareVersions(std::string_view a, std::string_view b);
// Where a group and version stand among the others: higher numbers come first (upstream: the priorities of
// APIServices).
struct DiscoveryPriority {
  int group = 0, version = 0;
};
DiscoveryPriority PriorityOf(std::string_view group, std::string_view version);

// A group version that another server serves (upstream: an APIService with a service). It takes the place of
// a group version of the same name among the kinds.
struct RemoteVersion {
  std::string group, version;
  DiscoveryPriority priority;
  json::Array resources;  // as APIVersionDiscovery has them
  bool stale = false;     // the other server could not be asked
};
using RemoteVersions = std::span<const RemoteVersion>;

// The versions of a group, the preferred one first. Empty if there is no such group.
std::vector<std::string_view> VersionsOf(KindList kinds, std::string_view group, RemoteVersions remotes = {});
// The groups except core, in the order of documents.
std::vector<std::string_view> GroupsOf(KindList kinds, RemoteVersions remotes = {});

// GET /api: APIVersions. `server_address` is "host:port" as this client reaches us.
std::string ApiVersionsDocument(std::string_view server_address);
// GET /apis: APIGroupList.
std::string ApiGroupListDocument(KindList kinds, RemoteVersions remotes = {});
// GET /apis/<group>: APIGroup. None: there is no such group.
std::optional<std::string> ApiGroupDocument(KindList kinds, std::string_view group,
                                            RemoteVersions remotes = {});
// GET /api/v1 and /apis/<group>/<version>: APIResourceList. None: there is no such group version.
std::optional<std::string> ApiResourceListDocument(KindList kinds, std::string_view group,
                                                   std::string_view version);

// GET /api (`core`) and /apis with an Accept of APIGroupDiscoveryList, version v2.
std::string AggregatedDiscoveryDocument(KindList kinds, bool core, RemoteVersions remotes = {});

// A quoted ETag of a document: equal for equal text.
std::string DocumentETag(std::string_view document);
// What DocumentETag has in quotes: 32 upper-case hexadecimal digits.
std::string DocumentHash(std::string_view document);

}  // namespace flyball::api
